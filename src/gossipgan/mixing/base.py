"""What learners exchange in an iteration: gradients inside their fast steps, or weights after them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from torch import Tensor

#: Tensors of one kind of every local learner, by its number; the same shapes at all learners.
OfLearners = Mapping[int, Sequence[Tensor]]


class Mixing(Protocol):
    """An exchange between learners. All processes call the same methods in the same order.

    Attributes:
        bytes: sent by the local learners so far.
        digest: of who sends what to whom in which round; processes that mix with each other have the same.
    """

    @property
    def bytes(self) -> int: ...

    @property
    def digest(self) -> str: ...

    def gradients(self, gradients: OfLearners) -> None:
        """Called with the gradients that have just been taken, before the step by them; overwrites them."""
        ...

    def weights(self, iteration: int, weights: Mapping[str, OfLearners]) -> None:
        """Called after the fast steps of an iteration, from 1, with what is mixed of each player; overwrites it."""
        ...

    def tensors(self) -> dict[int, dict[str, Tensor]]:
        """State of the local learners by number and name, for a checkpoint. Not copies."""
        ...

    def load(self, tensors: Mapping[int, Mapping[str, Tensor]], *, rewired: bool = False) -> None:
        """Take up what ``tensors`` gave; ``rewired``: under the matrices of more learners than there are now."""
        ...


class Silence:
    """Learners keep to themselves; and what the other kinds of mixing do not do."""

    bytes = 0
    digest = ""

    def gradients(self, gradients: OfLearners) -> None:
        """Nothing is exchanged."""

    def weights(self, iteration: int, weights: Mapping[str, OfLearners]) -> None:
        """Nothing is exchanged."""

    def tensors(self) -> dict[int, dict[str, Tensor]]:
        return {}

    def load(self, tensors: Mapping[int, Mapping[str, Tensor]], *, rewired: bool = False) -> None:
        """There is no state."""
