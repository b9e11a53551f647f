"""What a method is: a step of both players, and, where it is linear, the step as a matrix."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: From a point, shape (..., 2, d), to the joint gradient there on the iteration's batch, same shape.
Field = Callable[[Array], Array]

#: The field of the game x*y: (grad_x, -grad_y) = ROTATION @ (x, y).
ROTATION: Array = np.array([[0.0, 1.0], [-1.0, 0.0]])


class Method(Protocol):
    """A base method. It keeps its own memory (moments, last gradient), which a Lookahead leaves as it is.

    Attributes:
        extrapolations: evaluations of the joint gradient in an iteration, beyond the one of its update.
    """

    extrapolations: int

    def step(self, w: Array, field: Field) -> Array:
        """The next point; ``w`` is left as it is."""
        ...

    def iteration_matrix(self) -> Array | None:
        """One step on the game x*y as a matrix on (x, y, memory); None where the step is not linear."""
        ...
