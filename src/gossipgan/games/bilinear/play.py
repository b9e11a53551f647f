"""Playing the game: steps, syncs, and the distance now and then."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossipgan.games.bilinear.game import Array, Batch, BilinearGame
from gossipgan.games.bilinear.lookahead import Lookahead, LookaheadSettings
from gossipgan.games.bilinear.methods.base import Method

#: The first cycles are all recorded, later ones thinned to about as many again.
_DENSE = 100
_SPREAD = 200


@dataclass(frozen=True)
class Trajectory:
    """Distances at the start, at ends of cycles, and at the last iteration.

    Attributes:
        iterations: shape (points,), increasing.
        distance: sqrt(|x - x*|^2 + |y - y*|^2), shape (points, plays).
        sum_of_norms: |x - x*| + |y - y*|, shape (points, plays).
        last: where the players ended, shape (plays, 2, d).
        consensus: how far learners are from their average, shape (points, plays); None where there is one learner.
    """

    iterations: NDArray[np.int64]
    distance: Array
    sum_of_norms: Array
    last: Array
    consensus: Array | None = None


def play(
    game: BilinearGame,
    method: Method,
    start: Array,
    iterations: int,
    batches: Iterator[Batch],
    lookahead: LookaheadSettings | None = None,
) -> Trajectory:
    """Play ``iterations`` steps of ``method`` from ``start``, shape (plays, 2, d).

    A play that diverges goes on, infinitely far from the solution; nothing is raised.
    """
    cycle = 1 if lookahead is None else lookahead.cycle
    numbers = recorded(iterations, cycle)
    wanted = set(numbers.tolist())
    slow = None if lookahead is None else Lookahead(start, lookahead)
    w = start
    distance, sum_of_norms = [game.distance(w)], [game.sum_of_norms(w)]
    with np.errstate(over="ignore", invalid="ignore"):
        for steps in range(1, iterations + 1):
            w = method.step(w, next(batches).field)
            if slow is not None:
                w = slow.sync(w, steps)
            if steps in wanted:
                distance.append(game.distance(w))
                sum_of_norms.append(game.sum_of_norms(w))
    return Trajectory(numbers, np.array(distance), np.array(sum_of_norms), w)


def recorded(iterations: int, cycle: int) -> NDArray[np.int64]:
    """The start, ends of cycles (all of the first, then some), and the last iteration."""
    cycles = iterations // cycle
    thinned = np.linspace(0, cycles, min(cycles, _SPREAD) + 1).astype(np.int64)
    ends = np.union1d(np.arange(min(cycles, _DENSE) + 1), thinned) * cycle
    return np.union1d(ends, [iterations]).astype(np.int64)
