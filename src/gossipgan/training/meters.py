"""What an iteration takes, read off while it runs: operations, what autograd keeps, and what objects hold."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry


class OperationsMeter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts floating-point operations of convolutions and matrix products, forward and backward, while entered.

    By the formulas of ``torch.utils.flop_counter``: a multiplication and an addition are two. (Its own context also
    keeps track of modules, in a way that ``torch.autograd.grad`` refuses.)

    Attributes:
        count: so far.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        formula: Callable[..., int] | None = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.count += formula(*args, **(kwargs or {}), out_val=result)
        return result


class BackwardMeter(saved_tensors_hooks):
    """Counts the bytes that autograd keeps for backward passes, as saved tensors come and go, while entered.

    Args:
        held: places of storages that are there anyway, such as weights: they are not counted.

    Attributes:
        bytes: kept now.
        most: kept at one moment.
    """

    def __init__(self, held: set[int]) -> None:
        super().__init__(lambda tensor: _Saved(tensor, self), lambda saved: saved.tensor)
        self.bytes = 0
        self.most = 0
        self._held = held
        self._users: Counter[int] = Counter()

    def come(self, place: int, size: int) -> None:
        """One more tensor is kept that lies in the storage at a place."""
        self._users[place] += 1
        if self._users[place] == 1 and place not in self._held:
            self.bytes += size
            self.most = max(self.most, self.bytes)

    def go(self, place: int, size: int) -> None:
        """One tensor fewer is."""
        self._users[place] -= 1
        if self._users[place] == 0 and place not in self._held:
            self.bytes -= size


class _Saved:
    """A saved tensor, counted for as long as autograd keeps it."""

    def __init__(self, tensor: Tensor, meter: BackwardMeter) -> None:
        # Detached: a saved output that led back to its own graph would keep itself alive.
        self.tensor = tensor.detach()
        storage = tensor.untyped_storage()
        self._place, self._size, self._meter = storage.data_ptr(), storage.nbytes(), meter
        meter.come(self._place, self._size)

    def __del__(self) -> None:
        self._meter.go(self._place, self._size)


def add_storages(root: object, held: set[int]) -> int:
    """Find all tensors that an object leads to, by attributes and through collections.

    Args:
        root: where to begin.
        held: places of storages that are known; those found are added.

    Returns:
        bytes of the storages that are new.
    """
    added = 0
    reached: dict[int, object] = {}  # by id, and kept alive so that no id is used twice
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if id(one) in reached:
            continue
        reached[id(one)] = one
        if isinstance(one, Tensor):
            storage = one.untyped_storage()
            if storage.data_ptr() not in held:
                held.add(storage.data_ptr())
                added += storage.nbytes()
        elif isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, Sequence | set) and not isinstance(one, str | bytes):
            waiting += one
        elif hasattr(one, "__dict__") and not isinstance(one, type):
            waiting += vars(one).values()
    return added
