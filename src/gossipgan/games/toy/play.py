"""Playing a game: steps, syncs, and the distance now and then."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from gossipgan.games.toy.game import Array, Field, Game
from gossipgan.games.toy.lookahead import Lookahead, LookaheadSettings
from gossipgan.games.toy.methods.base import Method

#: The first cycles are all recorded, later ones thinned to about as many again.
_DENSE = 100
_SPREAD = 200

#: How many plays of a game in the plane have their path kept, and in how many points at most, about.
_PATHS = 3
_PATH_POINTS = 20_000


@dataclass(frozen=True)
class Trajectory:
    """Distances at the start, at ends of cycles, and at the last iteration.

    Attributes:
        iterations: shape (points,), increasing.
        distance: sqrt(|x - x*|^2 + |y - y*|^2), shape (points, plays).
        sum_of_norms: |x - x*| + |y - y*|, shape (points, plays).
        last: where the players ended, shape (plays, 2, d).
        consensus: how far learners are from their average, shape (points, plays); None where there is one learner.
        path: where the first plays went, shape (path points, first plays, 2): after steps, and where syncs pulled them
            back to; None where d is not 1.
    """

    iterations: NDArray[np.int64]
    distance: Array
    sum_of_norms: Array
    last: Array
    consensus: Array | None = None
    path: Array | None = None


def play(
    game: Game,
    method: Method,
    start: Array,
    iterations: int,
    fields: Iterator[Field],
    lookahead: LookaheadSettings | None = None,
) -> Trajectory:
    """Play ``iterations`` steps of ``method`` from ``start``, shape (plays, 2, d), on one of ``fields`` each.

    A play that diverges goes on, infinitely far from the solution; nothing is raised.
    """
    cycle = 1 if lookahead is None else lookahead.cycle
    numbers = recorded(iterations, cycle)
    wanted = set(numbers.tolist())
    distance, sum_of_norms = [game.distance(start)], [game.sum_of_norms(start)]
    path = [start[:_PATHS, :, 0]] if game.dim == 1 else []
    stride = math.ceil(iterations / _PATH_POINTS)
    w = start
    with np.errstate(over="ignore", invalid="ignore"):
        for steps, (fast, w) in enumerate(islice(iterates(method, start, fields, lookahead), iterations), start=1):
            if path and steps % stride == 0:
                path.append(fast[:_PATHS, :, 0])
                if w is not fast:
                    path.append(w[:_PATHS, :, 0])
            if steps in wanted:
                distance.append(game.distance(w))
                sum_of_norms.append(game.sum_of_norms(w))
    return Trajectory(numbers, np.array(distance), np.array(sum_of_norms), w, path=np.array(path) if path else None)


def iterates(
    method: Method, start: Array, fields: Iterator[Field], lookahead: LookaheadSettings | None = None
) -> Iterator[tuple[Array, Array]]:
    """Endless pairs: the point after a step, and the point to go on from, which is the same where no sync is due."""
    slow = None if lookahead is None else Lookahead(start, lookahead)
    w = start
    for steps, field in enumerate(fields, start=1):
        fast = method.step(w, field)
        w = fast if slow is None else slow.sync(fast, steps)
        yield fast, w


def recorded(iterations: int, cycle: int) -> NDArray[np.int64]:
    """The start, ends of cycles (all of the first, then some), and the last iteration."""
    cycles = iterations // cycle
    thinned = np.linspace(0, cycles, min(cycles, _SPREAD) + 1).astype(np.int64)
    ends = np.union1d(np.arange(min(cycles, _DENSE) + 1), thinned) * cycle
    return np.union1d(ends, [iterations]).astype(np.int64)
