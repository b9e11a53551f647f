"""The bilinear game of the Lookahead-minmax paper.

    f(x, y) = sum_i (x' M_i y + a_i' x + b_i' y),    M_i = e_i e_i',    i = 1..d

The sum is x'y + a'x + b'y with a = sum_i a_i and b = sum_i b_i: its only stationary point is x* = -b, y* = -a, around
which simultaneous gradient steps rotate outward. A batch sums a part of the samples; its gradient has noise even at
the solution, since a_i and b_i are dense.
Source: "Taming GANs with Lookahead-Minmax" (ICLR 2021), its bilinear experiments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gossipgan.games.toy.game import ROTATION, Array, Field, Game
from gossipgan.games.toy.streams import stream

#: Random numbers drawn at a time, so that batches cost one matrix product for many iterations.
_DRAWS_AT_ONCE = 400_000


@dataclass(frozen=True)
class Batch:
    """The samples of one iteration, summed.

    Attributes:
        mask: shape (..., 1, d), 1 where sample i (and with it coordinate i of M) is in the batch, else 0.
        offset: shape (..., 2, d), the sums of a_i and of b_i over the batch.
    """

    mask: Array
    offset: Array

    def field(self, w: Array) -> Array:
        """The joint gradient of the batch at ``w``."""
        g = self.mask * w[..., ::-1, :] + self.offset
        g[..., 1, :] *= -1
        return g


class BilinearGame(Game):
    """One game a play, each with its own offsets.

    Args:
        a: shape (plays, d, d), row i of a play is a_i.
        b: shape (plays, d, d), row i of a play is b_i.
    """

    jacobian = ROTATION

    def __init__(self, a: Array, b: Array) -> None:
        #: shape (plays, samples, 2 d)
        self._parts = np.concatenate([a, b], axis=-1)
        self.full = Batch(np.ones((1, 1, a.shape[-1])), np.stack([a.sum(axis=1), b.sum(axis=1)], axis=1))
        self.solution = -self.full.offset[:, ::-1, :]

    @classmethod
    def drawn(cls, dim: int, seeds: Sequence[int]) -> "BilinearGame":
        """Offsets a_i, b_i ~ N(0, I/d), so that x* and y* are about N(0, I)."""
        a = np.stack([stream(seed, "a").standard_normal((dim, dim)) for seed in seeds]) / np.sqrt(dim)
        b = np.stack([stream(seed, "b").standard_normal((dim, dim)) for seed in seeds]) / np.sqrt(dim)
        return cls(a, b)

    @classmethod
    def centred(cls, dim: int, plays: int = 1) -> "BilinearGame":
        """No offsets: the game x'y, its solution at the origin, where float64 resolves any distance."""
        return cls(np.zeros((plays, dim, dim)), np.zeros((plays, dim, dim)))

    def field(self, w: Array) -> Array:
        return self.full.field(w)

    def batches(self, size: int, streams: Sequence[np.random.Generator]) -> Iterator[Batch]:
        """Endless batches of ``size`` of the d samples, without replacement within a batch.

        One stream a play; or, in one game that many learners play, one stream a learner.
        A batch of all d is ``full``, and draws nothing.
        """
        if size == self.dim:
            while True:
                yield self.full
        ahead = max(1, _DRAWS_AT_ONCE // (len(streams) * self.dim))
        while True:
            masks = np.zeros((len(streams), ahead, self.dim))
            for play, draws in enumerate(streams):
                chosen = np.argpartition(draws.random((ahead, self.dim)), size - 1, axis=1)[:, :size]
                np.put_along_axis(masks[play], chosen, 1.0, axis=1)
            offsets = (masks @ self._parts).reshape(len(streams), ahead, 2, self.dim)
            for step in range(ahead):
                yield Batch(masks[:, step, None, :], offsets[:, step])

    def fields(self, size: int, streams: Sequence[np.random.Generator], *, fresh: bool = False) -> Iterator[Field]:
        """The field of each iteration, on ``batches``: one for all its evaluations.

        Fresh: the first evaluation draws a batch, and each further one a batch for each player.
        """
        batches = self.batches(size, streams)
        while True:
            yield _fresh(batches) if fresh else next(batches).field


def _fresh(batches: Iterator[Batch]) -> Field:
    seen = 0

    def field(w: Array) -> Array:
        nonlocal seen
        g = next(batches).field(w)
        if seen > 0:
            g[..., 1, :] = next(batches).field(w)[..., 1, :]
        seen += 1
        return g

    return field
