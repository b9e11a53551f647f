"""The bilinear lab: one method on the game at several seeds, from its name and numbers to distances and contraction.

A pass is one evaluation of each player's gradient on all d samples; the extra evaluation of extragradient methods
counts. The Lookahead-minmax paper's public notebook reads as if an extragradient step there were charged three passes
rather than two; ``extrapolation_passes=2`` counts so. Its figures for the stochastic game are sums of norms, from
players that start at zero: the default here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossipgan.errors import UserError
from gossipgan.games.bilinear.contraction import measured, predicted
from gossipgan.games.bilinear.decentralized import TOPOLOGIES, dposg, mixing_matrix, play_dposg, predicted_rates
from gossipgan.games.bilinear.game import Array, BilinearGame, starts
from gossipgan.games.bilinear.lookahead import LookaheadSettings
from gossipgan.games.bilinear.methods import ADAM_METHODS, GRADIENT_METHODS, Method
from gossipgan.games.bilinear.play import Trajectory, play
from gossipgan.games.bilinear.streams import stream

#: A name with this in front is Lookahead over the method behind it.
LOOKAHEAD_PREFIX = "la-"

BASE_METHODS = (*GRADIENT_METHODS, *ADAM_METHODS)
#: The decentralized method, which has learners and a topology, and no Lookahead.
DPOSG = "dposg"
METHODS = (*BASE_METHODS, DPOSG, *(LOOKAHEAD_PREFIX + name for name in BASE_METHODS))

STARTS = ("zero", "normal")

_K, _ALPHA, _SUPER_ALPHA = 6, 0.5, 0.5
_BETA1, _BETA2 = 0.9, 0.999
_LEARNERS, _TOPOLOGY, _ROUNDS = 8, "ring", 1


@dataclass(frozen=True)
class Setup:
    """What is played. Checked where it is made: UserError says what is wrong and what would be right.

    Attributes:
        method: one of METHODS.
        eta: step size, above 0.
        k, alpha: of Lookahead (defaults 6 and .5); only with a method named la-.
        super_k, super_alpha: of the nested Lookahead (super_k a multiple of k; super_alpha .5 if not given).
        beta1, beta2: of Adam (defaults .9 and .999); beta1 in (-1, 1), beta2 in [0, 1); only with Adam methods.
        learners, topology, rounds: of dposg (defaults 8, ring and 1); only with it.
        dim: d, the dimension of each player and the number of samples.
        batch: samples in a batch (of each learner), 1 to dim; None: all of them.
        passes: how long is played, in passes over the samples (by each learner).
        seeds: how many plays, with seeds 0, 1, ...; each has its own game, start and batches.
        start: "zero", where both players are 0, or "normal", where they are N(0, I), at each learner its own.
        extrapolation_passes: what an extrapolation's evaluation costs, in passes over its batch.
    """

    method: str
    eta: float
    k: int | None = None
    alpha: float | None = None
    super_k: int | None = None
    super_alpha: float | None = None
    beta1: float | None = None
    beta2: float | None = None
    learners: int | None = None
    topology: str | None = None
    rounds: int | None = None
    dim: int = 100
    batch: int | None = None
    passes: int = 300
    seeds: int = 5
    start: str = "zero"
    extrapolation_passes: int = 1

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UserError(f"--method {self.method}: unknown; allowed are {', '.join(METHODS)}")
        _number("--eta", self.eta, lambda v: v > 0, "above 0")
        for name, count in (("--dim", self.dim), ("--passes", self.passes), ("--seeds", self.seeds)):
            _number(name, count, lambda v: v >= 1, "at least 1")
        if self.batch is not None:
            _number("--batch", self.batch, lambda v: 1 <= v <= self.dim, f"full, or 1 to {self.dim}, the dimension")
        if self.start not in STARTS:
            raise UserError(f"--start {self.start}: unknown; allowed are {', '.join(STARTS)}")
        _number("--extrapolation-passes", self.extrapolation_passes, lambda v: v in (1, 2), "1 or 2")
        self._check_lookahead()
        self._check_betas()
        self._check_learners()
        if self.iterations < 1:
            raise UserError(
                f"--passes {self.passes}: not enough for one iteration of {self.method}, "
                f"which takes {self.passes_an_iteration:g} passes"
            )

    def _check_lookahead(self) -> None:
        given = {
            "--k": self.k,
            "--alpha": self.alpha,
            "--super-k": self.super_k,
            "--super-alpha": self.super_alpha,
        }
        if not self.method.startswith(LOOKAHEAD_PREFIX):
            for name, value in given.items():
                if value is not None:
                    way_out = "leave it out" if self.method == DPOSG else f"use --method la-{self.method}"
                    raise UserError(f"{name}: {self.method} has no Lookahead; {way_out}")
            return
        if self.k is not None:
            _number("--k", self.k, lambda v: v >= 1, "at least 1")
        for name, share in (("--alpha", self.alpha), ("--super-alpha", self.super_alpha)):
            if share is not None:
                _number(name, share, lambda v: 0 < v <= 1, "above 0 and at most 1")
        k = self.k or _K
        if self.super_k is not None:
            _number("--super-k", self.super_k, lambda v: v >= k and v % k == 0, f"a multiple of --k, which is {k}")
        elif self.super_alpha is not None:
            raise UserError("--super-alpha: only for the nested Lookahead; give --super-k too")

    def _check_betas(self) -> None:
        if self.base in ADAM_METHODS:
            if self.beta1 is not None:
                _number("--beta1", self.beta1, lambda v: -1 < v < 1, "above -1 and below 1")
            if self.beta2 is not None:
                _number("--beta2", self.beta2, lambda v: 0 <= v < 1, "at least 0 and below 1")
            return
        for name, beta in (("--beta1", self.beta1), ("--beta2", self.beta2)):
            if beta is not None:
                raise UserError(f"{name}: {self.method} has no such number; only {' and '.join(ADAM_METHODS)} have")

    def _check_learners(self) -> None:
        given = {"--learners": self.learners, "--topology": self.topology, "--rounds": self.rounds}
        if self.method != DPOSG:
            for name, value in given.items():
                if value is not None:
                    raise UserError(f"{name}: {self.method} has one learner; use --method {DPOSG}")
            return
        for name, count in (("--learners", self.learners), ("--rounds", self.rounds)):
            if count is not None:
                _number(name, count, lambda v: v >= 1, "at least 1")
        if self.topology is not None and self.topology not in TOPOLOGIES:
            raise UserError(f"--topology {self.topology}: unknown; allowed are {', '.join(TOPOLOGIES)}")

    @property
    def base(self) -> str:
        """The method's name without Lookahead."""
        return self.method.removeprefix(LOOKAHEAD_PREFIX)

    @property
    def lookahead(self) -> LookaheadSettings | None:
        if not self.method.startswith(LOOKAHEAD_PREFIX):
            return None
        return LookaheadSettings(
            k=self.k or _K,
            alpha=self.alpha or _ALPHA,
            super_k=self.super_k,
            super_alpha=self.super_alpha or _SUPER_ALPHA,
        )

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
    def passes_an_iteration(self) -> float:
        return self._evaluations * self.batch_size / self.dim

    @property
    def iterations(self) -> int:
        """Whole iterations that the passes pay for."""
        return self.passes * self.dim // (self._evaluations * self.batch_size)

    @property
    def _evaluations(self) -> int:
        return 1 if self.method == DPOSG else 1 + self.extrapolation_passes * self.build().extrapolations

    def build(self) -> Method:
        """The base method of one learner, without memory yet."""
        if self.base in GRADIENT_METHODS:
            return GRADIENT_METHODS[self.base](self.eta)
        beta1 = _BETA1 if self.beta1 is None else self.beta1
        beta2 = _BETA2 if self.beta2 is None else self.beta2
        return ADAM_METHODS[self.base](self.eta, beta1, beta2)


@dataclass(frozen=True)
class Outcome:
    """What was played and what came out.

    Attributes:
        setup: as given.
        trajectory: distances of each seed.
        predicted: contraction factor of a cycle; None for nonlinear methods and on batches.
        measured: the same as it was, one a seed (None where a seed's distances resolve none); None on batches.
        consensus_predicted: with learners: contraction factor of their disagreement in an iteration.
        consensus_measured: the same as it was, as ``measured``.
    """

    setup: Setup
    trajectory: Trajectory
    predicted: float | None
    measured: list[float | None] | None
    consensus_predicted: float | None = None
    consensus_measured: list[float | None] | None = None

    @property
    def cycle(self) -> int:
        """Iterations of a cycle: 1 without Lookahead, k with it, super_k nested."""
        lookahead = self.setup.lookahead
        return 1 if lookahead is None else lookahead.cycle

    @property
    def passes(self) -> list[float]:
        """The recorded points' abscissa."""
        return [float(number) * self.setup.passes_an_iteration for number in self.trajectory.iterations]

    def as_json(self) -> dict[str, Any]:
        """Plain values; distances that overflowed are null."""
        setup, trajectory = self.setup, self.trajectory
        lookahead = setup.lookahead
        content: dict[str, Any] = {
            "game": "bilinear",
            "method": setup.method,
            "eta": setup.eta,
            "lookahead": None
            if lookahead is None
            else {"k": lookahead.k, "alpha": lookahead.alpha}
            | (
                {}
                if lookahead.super_k is None
                else {"super_k": lookahead.super_k, "super_alpha": lookahead.super_alpha}
            ),
            "dim": setup.dim,
            "batch": setup.batch_size,
            "start": setup.start,
            "seeds": list(range(setup.seeds)),
            "iterations": setup.iterations,
            "passes": self.passes,
            "distance": [[_finite(value) for value in point] for point in trajectory.distance.tolist()],
            "sum_of_norms": [[_finite(value) for value in point] for point in trajectory.sum_of_norms.tolist()],
            "contraction": {"iterations": self.cycle, "predicted": self.predicted, "measured": self.measured},
        }
        if trajectory.consensus is not None:
            content["learners"] = setup.learners_or_default
            content["topology"] = setup.topology or _TOPOLOGY
            content["rounds"] = setup.rounds or _ROUNDS
            content["consensus"] = [[_finite(value) for value in point] for point in trajectory.consensus.tolist()]
            content["consensus_contraction"] = {
                "iterations": 1,
                "predicted": self.consensus_predicted,
                "measured": self.consensus_measured,
            }
        return content


def run(setup: Setup) -> Outcome:
    """Play a setup at all its seeds."""
    if setup.method == DPOSG:
        return _run_decentralized(setup)
    seeds = range(setup.seeds)
    game = BilinearGame.drawn(setup.dim, seeds)
    batches = game.batches(setup.batch_size, [stream(seed, "batches") for seed in seeds])
    lookahead = setup.lookahead
    start = starts(setup.dim, seeds) if setup.start == "normal" else np.zeros((setup.seeds, 2, setup.dim))
    trajectory = play(game, setup.build(), start, setup.iterations, batches, lookahead)
    if setup.batch_size < setup.dim:
        return Outcome(setup, trajectory, None, None)
    cycle = 1 if lookahead is None else lookahead.cycle
    ends = trajectory.iterations % cycle == 0
    factors = _factors(trajectory.iterations[ends] // cycle, trajectory.distance[ends])
    return Outcome(setup, trajectory, predicted(setup.build(), lookahead), factors)


def _run_decentralized(setup: Setup) -> Outcome:
    """Seeds one after another: there may be many learners."""
    mixing = mixing_matrix(setup.topology or _TOPOLOGY, setup.learners_or_default)
    rounds = setup.rounds or _ROUNDS
    learners = range(setup.learners_or_default)
    plays = []
    for seed in range(setup.seeds):
        game = BilinearGame.drawn(setup.dim, [seed])
        start = np.zeros((len(learners), 2, setup.dim))
        if setup.start == "normal":
            start = np.stack([stream(seed, "start", learner).standard_normal((2, setup.dim)) for learner in learners])
        batches = game.batches(setup.batch_size, [stream(seed, "batches", learner) for learner in learners])
        iterates = dposg(setup.eta, mixing, rounds, start, batches)
        plays.append(play_dposg(game, iterates, start, setup.iterations))
    consensus = np.hstack([one.consensus for one in plays if one.consensus is not None])
    trajectory = Trajectory(
        plays[0].iterations,
        distance=np.hstack([one.distance for one in plays]),
        sum_of_norms=np.hstack([one.sum_of_norms for one in plays]),
        last=np.concatenate([one.last for one in plays]),
        consensus=consensus,
    )
    if setup.batch_size < setup.dim:
        return Outcome(setup, trajectory, None, None)
    average_rate, consensus_rate = predicted_rates(setup.eta, mixing, rounds)
    return Outcome(
        setup,
        trajectory,
        average_rate,
        _factors(trajectory.iterations, trajectory.distance),
        consensus_rate,
        _factors(trajectory.iterations, consensus),
    )


def _factors(cycles: NDArray[np.int64], distances: Array) -> list[float | None]:
    """The measured contraction factor of each play, from distances of shape (points, plays)."""
    return [measured(cycles.astype(np.float64), of_one) for of_one in distances.T]


def _number(name: str, value: float, holds: Callable[[float], bool], allowed: str) -> None:
    if not (math.isfinite(value) and holds(value)):
        raise UserError(f"{name} {value:g}: must be {allowed}")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
