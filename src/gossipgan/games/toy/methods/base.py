"""What a method is: a step of both players, and, where it is linear, the step as a matrix."""

from dataclasses import dataclass
from typing import Protocol

from gossipgan.games.toy.game import Array, Field


@dataclass(frozen=True)
class LinearStep:
    """One step of a linear method on a linear field:  s <- matrix s + noise xi.

    Attributes:
        matrix: shape (states, states); s is x, y, and the method's memory, at one coordinate.
        noise: shape (states, 2 evaluations); xi is what each evaluation of the field got wrong, in evaluations' order.
    """

    matrix: Array
    noise: Array


class Method(Protocol):
    """A base method. It keeps its own memory (moments, last gradient), which a Lookahead leaves as it is.

    Attributes:
        extrapolations: evaluations of the joint gradient in an iteration, beyond the one of its update.
    """

    extrapolations: int

    def step(self, w: Array, field: Field) -> Array:
        """The next point; ``w`` is left as it is."""
        ...

    def linear_step(self, jacobian: Array) -> LinearStep | None:
        """A step on the field jacobian @ (x, y), shape (2, 2); None where the method is not linear."""
        ...
