"""Workers on this machine, each a process made by the supervisor's fork server."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from gossipgan.sweeps.processes import Nursery, kill_group
from gossipgan.sweeps.workers.worker import WorkRequest

#: Seconds between looks at workers that are to end.
_LOOK = 1.0
#: Seconds that workers have to put their trials back when the sweep is stopped.
_GRACE = 60.0


class LocalWorkers:
    """Workers of one supervisor; they end with it.

    Args:
        nursery: makes them.
        request: what the worker of an index is to do.
        count: how many there are to be at a time.
    """

    def __init__(self, nursery: Nursery, request: Callable[[int], WorkRequest], count: int) -> None:
        self._nursery = nursery
        self._request = request
        self._places: dict[int, int] = {}
        self._count = count

    @property
    def living(self) -> int:
        """How many there are."""
        return len(self._places)

    def start(self) -> int:
        """As many as are missing; returns how many these were."""
        free = sorted(set(range(self._count)) - set(self._places.values()))
        for index in free:
            self._places[self._nursery.spawn(self._request(index)._asdict())] = index
        return len(free)

    def look(self, seconds: float) -> bool:
        """Wait a while for news; whether a worker has died."""
        ended = self._nursery.ended(seconds)
        for worker, _ in ended:
            self._places.pop(worker, None)
        return any(status != 0 for _, status in ended)

    def stop(self) -> None:
        """Let every worker put its trial back, and wait for them."""
        for worker in self._places:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while self._places and time.monotonic() < deadline:
            self.look(_LOOK)
        self.kill()
        while self._places:
            self.look(_LOOK)

    def kill(self) -> None:
        """End them at once."""
        for worker in self._places:
            kill_group(worker)
