"""What learners exchange: started with their weights, finished before these are used again."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor


class Mixing(Protocol):
    """An exchange between learners, in two halves.

    Vectors are flat players' weights, shape ``(parameters,)`` each, one for every local learner. Between
    ``start`` and ``finish`` nobody may write to them; ``finish`` leaves the mixed weights in place.
    """

    def start(self, vectors: Sequence[Tensor]) -> None: ...

    def finish(self) -> None: ...


class NoMixing:
    """Learners keep to themselves."""

    def start(self, vectors: Sequence[Tensor]) -> None:
        """Nothing is sent."""

    def finish(self) -> None:
        """Nothing is received."""
