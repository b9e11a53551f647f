"""The cubic games: near the solution a method contracts as its linearization does; far from it, it may circle forever.

A pass is one evaluation of each player's gradient; the extra evaluation of extragradient methods counts.
"""

from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, ClassVar

import numpy as np

from gossipgan.errors import UserError
from gossipgan.games.toy.contraction import measured
from gossipgan.games.toy.cubic import FORMS, CubicGame
from gossipgan.games.toy.cycle import Cycle, cycle
from gossipgan.games.toy.game import Array, starts
from gossipgan.games.toy.lab.outcome import Comparison, Outcome
from gossipgan.games.toy.lab.setup import Setup, check, check_name
from gossipgan.games.toy.play import Trajectory, iterates, play

#: How far from the solution starting points are, per player: standard deviations.
_SCALES = {"normal": 1.0, "near": 0.1}

_EPSILON = 0.01

#: The contraction near the solution is measured from this far away and over so many cycles, while the distance is
#: resolved by float64 and the field is linear to a part in a thousand.
_NEAR, _CYCLES = 1e-6, 100
_SMALLEST, _LARGEST = 1e-7, 100.0


@dataclass(frozen=True)
class CubicSetup(Setup):
    """A method on one of the cubic games; each seed has its own start.

    Attributes:
        form: of FORMS.
        epsilon: of almost-bilinear (default .01), above 0 and at most 1; only with it.
        start: "normal", N(0, I) around the solution, or "near", a tenth as far.
    """

    game: ClassVar[str] = "cubic"

    passes: int = 3000
    form: str = "almost-bilinear"
    epsilon: float | None = None
    start: str = "normal"

    def check_game(self) -> None:
        check_name("--form", self.form, FORMS)
        check_name("--start", self.start, tuple(_SCALES))
        if self.epsilon is not None:
            check("--epsilon", self.epsilon, lambda v: 0 < v <= 1, "above 0 and at most 1")
            if self.form != "almost-bilinear":
                raise UserError(f"--epsilon: {self.form} has no such number; only almost-bilinear has")

    @property
    def epsilon_or_default(self) -> float:
        return self.epsilon or _EPSILON

    @property
    def in_words(self) -> str:
        epsilon = f", eps = {self.epsilon_or_default:g}" if self.form == "almost-bilinear" else ""
        return f"cubic game, {self.form}{epsilon}"

    @property
    def own(self) -> dict[str, Any]:
        epsilon = {"epsilon": self.epsilon_or_default} if self.form == "almost-bilinear" else {}
        return {"form": self.form, **epsilon, "start": self.start}

    def run(self) -> Outcome:
        game = CubicGame(self.form, self.epsilon_or_default)
        directions = starts(1, range(self.seeds))
        start = game.solution + _SCALES[self.start] * directions
        trajectory = play(game, self.build(), start, self.iterations, repeat(game.field), self.lookahead)
        limit_cycle = game.limit_cycle()
        around = Comparison(
            "late_distance",
            "mean distance in the later half, against the flow's limit cycle",
            _late_means(trajectory),
            float(np.linalg.norm(limit_cycle - game.solution.ravel(), axis=-1).mean()),
        )
        linear = cycle(self.build(), game.jacobian, self.lookahead)
        comparisons = (around,) if linear is None else (self._contraction(game, directions, linear), around)
        return Outcome(self, game, trajectory, comparisons, limit_cycle)

    def _contraction(self, game: CubicGame, directions: Array, linear: Cycle) -> Comparison:
        """Measured on pairs of plays of their own, that start so near that the field is all but linear."""
        across = directions[:, ::-1] * np.array([[1.0], [-1.0]])
        start = game.solution + _NEAR * np.concatenate([directions, across])
        plays = iterates(self.build(), start, repeat(game.field), self.lookahead)
        with np.errstate(over="ignore", invalid="ignore"):
            ends = [start, *(w for _, w in islice(plays, self.cycle - 1, _CYCLES * self.cycle, self.cycle))]
            one, other = np.split((np.array(ends) - game.solution)[..., 0], 2, axis=1)
            # A play goes round on an ellipse, and its distance rises and falls with that; the area that two of them
            # span does not, and contracts by the square of the factor. With a real eigenvalue nothing goes round.
            if linear.slowest.imag == 0:
                size = np.linalg.norm(one, axis=-1)
            else:
                size = np.sqrt(np.abs(one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]))
        cycles = np.arange(len(ends), dtype=np.float64)
        return Comparison(
            "contraction",
            f"contraction of {self.cycle_in_words}, near the solution",
            [measured(cycles, of_one, _SMALLEST, _LARGEST) for of_one in size.T],
            linear.spectral_radius,
        )


def _late_means(trajectory: Trajectory) -> list[float | None]:
    """The mean distance of each play, over recorded points in the later half of its iterations."""
    late = 2 * trajectory.iterations >= trajectory.iterations[-1]
    return [float(one) for one in trajectory.distance[late].mean(axis=0)]
