"""The learners of a run, and how they reach one another."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor

#: (receiver, sender): the receiver wants the sender's message.
Want = tuple[int, int]


class Exchange(Protocol):
    """Messages under way."""

    def finish(self) -> Mapping[int, Tensor]:
        """Wait for them. Returns every message that a learner of this process wanted, by its sender: this process's
        own learners' are the tensors that were given."""
        ...


class Group(Protocol):
    """Learners 0 to ``learners`` - 1, of which this process hosts ``local``, a range of consecutive ones.

    These are places: where learners have been lost, those that are left are counted anew.

    What is said here of all processes must be called by all of them, in the same order.

    Attributes:
        learners: of the run.
        local: those of this process.
        main: whether this process hosts learner 0; it keeps the run's journal and results.
        waited: seconds spent waiting for messages so far.
    """

    learners: int
    local: range
    main: bool
    waited: float

    def exchange(self, messages: Mapping[int, Tensor], wants: Iterable[Want]) -> Exchange:
        """Send the local learners' messages to those who want them; all processes give the same ``wants``.

        Messages are of one shape and type, and must not be written to before the exchange is finished.
        """
        ...

    def gather(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """One tensor of every local learner in; on the main process all learners' out, in order (elsewhere none).

        A local learner's may be the very tensor that was given.
        """
        ...

    def spread(self, tensor: Tensor) -> None:
        """Overwrite ``tensor`` with the main process's."""
        ...

    def sum(self, tensor: Tensor) -> None:
        """Overwrite ``tensor`` with the sum of all processes', in an order that is the library's."""
        ...

    def share(self, value: Any) -> Any:
        """The main process's value, which JSON can hold, at all processes."""
        ...

    def barrier(self) -> None:
        """Wait until all processes are here."""
        ...

    def check_agreement(self, description: str) -> None:
        """Refuse to go on where other processes give another description of what they are about to do.

        Raises:
            UserError: one does.
        """
        ...


class OneProcess:
    """All learners in this process: virtual learners. Nothing is copied and nobody waits."""

    main = True
    waited = 0.0

    def __init__(self, learners: int) -> None:
        self.learners = learners
        self.local = range(learners)

    def exchange(self, messages: Mapping[int, Tensor], wants: Iterable[Want]) -> Exchange:
        return _AtHand(messages)

    def gather(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        return list(tensors)

    def spread(self, tensor: Tensor) -> None:
        """There is one process."""

    def sum(self, tensor: Tensor) -> None:
        """There is one process."""

    def share(self, value: Any) -> Any:
        return value

    def barrier(self) -> None:
        """There is one process."""

    def check_agreement(self, description: str) -> None:
        """There is one process."""


class _AtHand:
    def __init__(self, messages: Mapping[int, Tensor]) -> None:
        self._messages = messages

    def finish(self) -> Mapping[int, Tensor]:
        return self._messages
