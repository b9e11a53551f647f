"""The bilinear game with noise in its gradients: where the noise keeps the players, measured beside exact.

A pass is one evaluation of each player's gradient; the extra evaluation of extragradient methods counts.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gossipgan.games.toy.contraction import predicted
from gossipgan.games.toy.game import Array, starts
from gossipgan.games.toy.lab.outcome import Comparison, Outcome
from gossipgan.games.toy.lab.setup import Setup, check, check_name
from gossipgan.games.toy.noisy import NoisyGame
from gossipgan.games.toy.play import Trajectory, play
from gossipgan.games.toy.stationary import second_moment
from gossipgan.games.toy.streams import stream

STARTS = ("zero", "normal")


@dataclass(frozen=True)
class NoisySetup(Setup):
    """A method on the noisy game; each seed has its own start and noise.

    Attributes:
        dim: d, the dimension of each player.
        noise: standard deviation in each coordinate of a gradient, above 0.
        start: "zero", which is the solution, or "normal", N(0, I).
    """

    game: ClassVar[str] = "noisy"

    passes: int = 3000
    seeds: int = 100
    dim: int = 1
    noise: float = 0.1
    start: str = "normal"

    def check_game(self) -> None:
        check("--dim", self.dim, lambda v: v >= 1, "at least 1")
        check("--noise", self.noise, lambda v: v > 0, "above 0")
        check_name("--start", self.start, STARTS)

    @property
    def in_words(self) -> str:
        return f"noisy bilinear game, d = {self.dim}, noise {self.noise:g}"

    @property
    def own(self) -> dict[str, Any]:
        return {"dim": self.dim, "noise": self.noise, "start": self.start}

    def run(self) -> Outcome:
        seeds = range(self.seeds)
        game = NoisyGame(self.dim, self.noise)
        method = self.build()
        start = starts(self.dim, seeds) * (self.start == "normal")
        fields = game.fields([stream(seed, "noise") for seed in seeds])
        trajectory = play(game, method, start, self.iterations, fields, self.lookahead)
        moment = second_moment(method, game.jacobian, self.noise, self.lookahead)
        comparisons = (
            Comparison(
                "mean_contraction",
                f"contraction of {self.cycle_in_words}, of the mean",
                None,
                predicted(method, game.jacobian, self.lookahead),
            ),
            Comparison(
                "second_moment",
                "mean squared distance in the long run",
                _late_mean_squares(trajectory, self.cycle),
                None if moment is None else self.dim * moment,
            ),
        )
        return Outcome(self, game, trajectory, comparisons)


def _late_mean_squares(trajectory: Trajectory, cycle: int) -> list[float | None]:
    """The mean squared distance of each play, over recorded ends of cycles in the later half of its iterations."""
    late = (trajectory.iterations % cycle == 0) & (2 * trajectory.iterations >= trajectory.iterations[-1])
    with np.errstate(over="ignore"):
        squares: Array = (trajectory.distance[late] ** 2).mean(axis=0)
    return [float(one) for one in squares]
