"""What a toy game is: the joint gradient of two players, where it vanishes, and how far from there they are.

x minimizes f(x, y) and y maximizes it. A point is one float64 array of shape (..., 2, d), x first; leading axes are
independent plays (seeds, learners). Methods are given a field and know nothing else of the game that they play.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gossipgan.games.toy.streams import stream

Array = NDArray[np.float64]

#: From a point, shape (..., 2, d), to the joint gradient (grad_x f, -grad_y f) there, same shape: both players descend
#: their own loss. One an iteration: what an evaluation of it draws (a batch, noise) is the game's affair.
Field = Callable[[Array], Array]

#: The field of the game x*y as a matrix on (x, y).
ROTATION: Array = np.array([[0.0, 1.0], [-1.0, 0.0]])


class Game(ABC):
    """One game a play, or one for all.

    Attributes:
        solution: the stationary point (x*, y*) that distances are measured from, shape (plays or 1, 2, d).
        jacobian: of the field at the solution, as a matrix on (x_i, y_i); the same for every coordinate i.
    """

    solution: Array
    jacobian: Array

    @abstractmethod
    def field(self, w: Array) -> Array:
        """The joint gradient at ``w``, exact: in full batch and without noise."""

    @property
    def dim(self) -> int:
        """d, the dimension of each player."""
        return int(self.solution.shape[-1])

    def distance(self, w: Array) -> Array:
        """sqrt(|x - x*|^2 + |y - y*|^2), shape (plays,). What overflowed is infinitely far."""
        return overflowed_is_far(np.linalg.norm(w - self.solution, axis=(-2, -1)))

    def sum_of_norms(self, w: Array) -> Array:
        """|x - x*| + |y - y*|, the Lookahead-minmax paper's ordinate, shape (plays,)."""
        return overflowed_is_far(np.linalg.norm(w - self.solution, axis=-1).sum(axis=-1))


def starts(dim: int, seeds: Sequence[int]) -> Array:
    """Random starting points x_0, y_0 ~ N(0, I), shape (seeds, 2, d)."""
    return np.stack([stream(seed, "start").standard_normal((2, dim)) for seed in seeds])


def overflowed_is_far(distances: Array) -> Array:
    """Differences of infinities are NaN; for a distance that is infinitely far."""
    return np.where(np.isnan(distances), np.inf, distances)
