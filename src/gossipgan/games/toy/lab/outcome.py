"""What was played and what came out."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gossipgan.games.toy.game import Array, Game
from gossipgan.games.toy.play import Trajectory

if TYPE_CHECKING:
    from gossipgan.games.toy.lab.setup import Setup


@dataclass(frozen=True)
class Comparison:
    """A number as it was measured beside what theory says of it.

    Attributes:
        key: its name in JSON.
        words: what it is.
        measured: one a seed, None where a seed has none; None where it is not measured at all.
        predicted: by theory; None where there is none.
        otherwise: why there is none.
    """

    key: str
    words: str
    measured: list[float | None] | None
    predicted: float | None
    otherwise: str = "not linear"


@dataclass(frozen=True)
class Outcome:
    """What was played and what came out.

    Attributes:
        setup: as given.
        game: that was played; with learners, that of the last seed.
        trajectory: distances of each seed.
        comparisons: what is known of this game and method, measured beside predicted.
        limit_cycle: what attracts the gradient flow of a game in the plane, shape (points, 2); None where unknown.
    """

    setup: "Setup"
    game: Game
    trajectory: Trajectory
    comparisons: tuple[Comparison, ...] = ()
    limit_cycle: Array | None = None

    @property
    def passes(self) -> list[float]:
        """The recorded points' abscissa."""
        return [float(int(number) * self.setup.passes_an_iteration) for number in self.trajectory.iterations]

    def compared(self, key: str) -> Comparison:
        """One of the comparisons. KeyError where there is no such."""
        return {one.key: one for one in self.comparisons}[key]

    def as_json(self) -> dict[str, Any]:
        """Plain values; what overflowed is null."""
        setup, trajectory = self.setup, self.trajectory
        lookahead = setup.lookahead
        content: dict[str, Any] = {"game": setup.game, "method": setup.method, "eta": setup.eta, "lookahead": None}
        if lookahead is not None:
            content["lookahead"] = {"k": lookahead.k, "alpha": lookahead.alpha}
            if lookahead.super_k is not None:
                content["lookahead"] |= {"super_k": lookahead.super_k, "super_alpha": lookahead.super_alpha}
        content |= setup.own
        content |= {
            "seeds": list(range(setup.seeds)),
            "iterations": setup.iterations,
            "cycle": setup.cycle,
            "passes": self.passes,
            "distance": _finite(trajectory.distance.tolist()),
            "sum_of_norms": _finite(trajectory.sum_of_norms.tolist()),
        }
        if trajectory.consensus is not None:
            content["consensus"] = _finite(trajectory.consensus.tolist())
        for one in self.comparisons:
            content[one.key] = {"predicted": _finite(one.predicted), "measured": _finite(one.measured)}
        return content


def _finite(value: Any) -> Any:
    """A number, or lists of them, with null for what is not finite."""
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if value is None or not math.isfinite(value) else value
