"""The bilinear game: full, on batches, and over many learners.

A pass is one evaluation of each player's gradient on all d samples; the extra evaluation of extragradient methods
counts. The published figures of the stochastic game are sums of norms.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from gossipgan.errors import UserError
from gossipgan.games.toy.bilinear import BilinearGame
from gossipgan.games.toy.contraction import predicted
from gossipgan.games.toy.decentralized import TOPOLOGIES, dposg, mixing_matrix, play_dposg, predicted_rates
from gossipgan.games.toy.game import Field, starts
from gossipgan.games.toy.lab import quirks
from gossipgan.games.toy.lab.outcome import Comparison, Outcome
from gossipgan.games.toy.lab.setup import METHODS, Setup, check, check_name, factors
from gossipgan.games.toy.methods import ADAM_METHODS
from gossipgan.games.toy.play import Trajectory, play
from gossipgan.games.toy.streams import stream

#: The decentralized method, which has learners and a topology, and no Lookahead.
DPOSG = "dposg"

STARTS = ("zero", "normal", "small")

_LEARNERS, _TOPOLOGY, _ROUNDS = 8, "ring", 1


@dataclass(frozen=True)
class BilinearSetup(Setup):
    """A method on the bilinear game; each seed has its own game, start and batches.

    Attributes:
        dim: d, the dimension of each player and the number of samples.
        batch: samples in a batch (of each learner), 1 to dim; None: all of them.
        start: "zero", where both players are 0; "normal", where they are N(0, I), at each learner its own; or "small",
            where they are N(0, I/d), as in the Lookahead-minmax paper's notebook.
        learners, topology, rounds: of dposg (defaults 8, ring and 1); only with it.
        quirk: names of ``quirks``.
    """

    game: ClassVar[str] = "bilinear"
    methods: ClassVar[tuple[str, ...]] = (*METHODS, DPOSG)

    dim: int = 100
    batch: int | None = None
    start: str = "zero"
    learners: int | None = None
    topology: str | None = None
    rounds: int | None = None
    quirk: tuple[str, ...] = ()

    def check_game(self) -> None:
        check("--dim", self.dim, lambda v: v >= 1, "at least 1")
        if self.batch is not None:
            check("--batch", self.batch, lambda v: 1 <= v <= self.dim, f"full, or 1 to {self.dim}, the dimension")
        check_name("--start", self.start, STARTS)
        self._check_learners()
        # Says what is wrong with a name.
        _ = self.quirks

    def _check_learners(self) -> None:
        given = {"--learners": self.learners, "--topology": self.topology, "--rounds": self.rounds}
        if self.method != DPOSG:
            for name, value in given.items():
                if value is not None:
                    raise UserError(f"{name}: {self.method} has one learner; use --method {DPOSG}")
            return
        for name, count in (("--learners", self.learners), ("--rounds", self.rounds)):
            if count is not None:
                check(name, count, lambda v: v >= 1, "at least 1")
        if self.topology is not None:
            check_name("--topology", self.topology, TOPOLOGIES)

    @property
    def quirks(self) -> frozenset[str]:
        """Those in force."""
        return quirks.resolve(self.quirk, extrapolates=self.extrapolations > 0, adam=self.base in ADAM_METHODS)

    @property
    def learners_or_default(self) -> int:
        return self.learners or _LEARNERS

    @property
    def mixing_in_words(self) -> str:
        """Learners, topology and rounds of dposg."""
        rounds = self.rounds or _ROUNDS
        learners = f"{self.learners_or_default} learner{'s' * (self.learners_or_default > 1)}"
        return f"{learners}, {self.topology or _TOPOLOGY}, {rounds} round{'s' * (rounds > 1)} of gossip"

    @property
    def batch_size(self) -> int:
        return self.dim if self.batch is None else self.batch

    @property
    def extrapolations(self) -> int:
        return 0 if self.method == DPOSG else super().extrapolations

    @property
    def passes_an_iteration(self) -> Fraction:
        evaluations = 1 + self.extrapolations * (2 if quirks.THREE_PASS_EG in self.quirks else 1)
        return evaluations * (Fraction(1) if quirks.BATCH_IS_A_PASS in self.quirks else self._share)

    @property
    def _share(self) -> Fraction:
        """Of the samples, in a batch."""
        return Fraction(self.batch_size, self.dim)

    @property
    def in_words(self) -> str:
        batch = "full batch" if self._share == 1 else f"batch {self.batch_size}"
        words = ["bilinear game", f"d = {self.dim}", batch, *self.quirk]
        return ", ".join([*words, self.mixing_in_words] if self.method == DPOSG else words)

    @property
    def own(self) -> dict[str, Any]:
        own = {"dim": self.dim, "batch": self.batch_size, "start": self.start, "quirks": sorted(self.quirks)}
        if self.method == DPOSG:
            own |= {
                "learners": self.learners_or_default,
                "topology": self.topology or _TOPOLOGY,
                "rounds": self.rounds or _ROUNDS,
            }
        return own

    def run(self) -> Outcome:
        return self._run_decentralized() if self.method == DPOSG else self._run_centralized()

    def _run_centralized(self) -> Outcome:
        seeds = range(self.seeds)
        game = BilinearGame.drawn(self.dim, seeds)
        method = self.build(v_corrected=quirks.UNCORRECTED_ADAM not in self.quirks)
        fields = self._fields(game, [stream(seed, "batches") for seed in seeds])
        start = self._scale * starts(self.dim, seeds)
        trajectory = play(game, method, start, self.iterations, fields, self.lookahead)
        contraction = Comparison(
            "contraction",
            f"contraction of {self.cycle_in_words}",
            factors(trajectory.iterations, trajectory.distance, self.cycle),
            predicted(method, game.jacobian, self.lookahead),
        )
        # On batches the distance soon stays where their noise keeps it.
        return Outcome(self, game, trajectory, (contraction,) if self._share == 1 else ())

    def _run_decentralized(self) -> Outcome:
        """Seeds one after another: there may be many learners."""
        mixing = mixing_matrix(self.topology or _TOPOLOGY, self.learners_or_default)
        rounds = self.rounds or _ROUNDS
        learners = range(self.learners_or_default)
        plays = []
        for seed in range(self.seeds):
            game = BilinearGame.drawn(self.dim, [seed])
            draws = [stream(seed, "start", learner).standard_normal((2, self.dim)) for learner in learners]
            start = self._scale * np.stack(draws)
            fields = self._fields(game, [stream(seed, "batches", learner) for learner in learners])
            plays.append(play_dposg(game, dposg(self.eta, mixing, rounds, start, fields), start, self.iterations))
        consensus = np.hstack([one.consensus for one in plays if one.consensus is not None])
        trajectory = Trajectory(
            plays[0].iterations,
            distance=np.hstack([one.distance for one in plays]),
            sum_of_norms=np.hstack([one.sum_of_norms for one in plays]),
            last=np.concatenate([one.last for one in plays]),
            consensus=consensus,
        )
        if self._share < 1:
            return Outcome(self, game, trajectory)
        average_rate, consensus_rate = predicted_rates(self.eta, mixing, rounds)
        contraction = Comparison(
            "contraction",
            f"contraction of {self.cycle_in_words}",
            factors(trajectory.iterations, trajectory.distance, self.cycle),
            average_rate,
        )
        consensus_contraction = Comparison(
            "consensus_contraction",
            "contraction of the consensus distance",
            factors(trajectory.iterations, consensus, self.cycle),
            consensus_rate,
        )
        return Outcome(self, game, trajectory, (contraction, consensus_contraction))

    def _fields(self, game: BilinearGame, streams: list[np.random.Generator]) -> Iterator[Field]:
        return game.fields(self.batch_size, streams, fresh=quirks.FRESH_BATCHES in self.quirks)

    @property
    def _scale(self) -> float:
        """Of the starting points."""
        return {"zero": 0.0, "normal": 1.0, "small": 1 / math.sqrt(self.dim)}[self.start]
