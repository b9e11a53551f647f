"""Who is still there: what processes and the keeper that started them say to each other, over a socket for each.

The keeper alone decides who belongs to the run. It sees every death itself, as the parent that the kernel tells, and it
ends a process that gives no sign of life; so nobody is both gone for some and there for others, and there is nothing to
vote on. One line of JSON each:

==========================================  =============================================================
from a process
``{"alive": true}``                         every second, by a thread that does nothing else
``{"ready": [12, 8], "address": [...]}``    nothing is under way here; it can go on from these points, and listens there
from the keeper
``{"gone": true}``                          somebody has gone: give up what is under way, and say when you are ready
``{"view": {...}}``                         all that are left are ready: these are they (see ``View``)
==========================================  =============================================================

A process says that it is ready once, and then waits for a view. It does so when it is told that somebody has gone, or
when it finds out for itself, by a connection that breaks. If somebody goes while the others become ready, the keeper
leaves it out of the view that it has not sent yet; if somebody goes after that, there is another round.
"""

import json
import os
import queue
import select
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

from gossipgan.mixing.connections import Address
from gossipgan.mixing.sockets import Sockets

#: The environment variable that names the socket to the keeper.
KEEPER = "GOSSIPGAN_KEEPER"

#: Seconds between signs of life.
_BEAT = 1.0


class View(NamedTuple):
    """The processes of a run, from one loss to the next.

    Attributes:
        members: their numbers, ascending, as they were started.
        addresses: where each listens.
        token: that they know one another by, in hex.
        point: where all of them go on from.
    """

    members: Sequence[int]
    addresses: Sequence[Address]
    token: str
    point: int

    @classmethod
    def read(cls, content: dict[str, Any]) -> Self:
        """As ``_asdict`` gave it to JSON."""
        addresses = [(str(host), int(port)) for host, port in content["addresses"]]
        return cls(list(content["members"]), addresses, str(content["token"]), int(content["point"]))


class Membership:
    """A process's end of the socket to its keeper. If the keeper dies, this process ends at once.

    Args:
        keeper: the socket.
    """

    def __init__(self, keeper: socket.socket) -> None:
        self._keeper = keeper
        self._views: queue.SimpleQueue[View] = queue.SimpleQueue()
        self._lock = threading.Lock()  # one thing is said at a time, and somebody goes before or after ``watch``
        self._alarm = False  # whether somebody has gone since the view
        self._sockets: Sockets | None = None
        threading.Thread(target=self._listen, name="gossipgan-membership", daemon=True).start()

    @classmethod
    def inherited(cls) -> Self | None:
        """Of a process that a keeper started; None of any other."""
        descriptor = os.environ.pop(KEEPER, None)
        if descriptor is None:
            return None
        keeper = socket.socket(fileno=int(descriptor))
        keeper.set_inheritable(False)
        return cls(keeper)

    def ready(self, points: Sequence[int], address: Address) -> View:
        """Say so, and wait until all that are left are.

        Args:
            points: that this process can go on from.
            address: where it listens.
        """
        self._say({"ready": list(points), "address": list(address)})
        return self._views.get()

    def watch(self, sockets: Sockets) -> None:
        """Close the sockets of the present view as soon as somebody of it goes; perhaps at once."""
        with self._lock:
            self._sockets = sockets
            gone = self._alarm
        if gone:
            sockets.close()

    def _say(self, line: dict[str, Any]) -> None:
        with self._lock:
            self._keeper.sendall(json.dumps(line).encode() + b"\n")

    def _listen(self) -> None:
        heard = b""
        while True:
            with suppress(OSError):  # without a keeper the end comes below
                self._say({"alive": True})
            if not select.select([self._keeper], [], [], _BEAT)[0]:
                continue
            try:
                more = self._keeper.recv(4096)
            except OSError:
                more = b""
            if not more:
                os._exit(1)  # nobody is left to wait for this process
            *lines, heard = (heard + more).split(b"\n")
            for line in lines:
                self._hear(json.loads(line))

    def _hear(self, said: dict[str, Any]) -> None:
        if "view" in said:
            with self._lock:
                self._alarm = False
            self._views.put(View.read(said["view"]))
            return
        with self._lock:
            self._alarm = True
            sockets, self._sockets = self._sockets, None
        if sockets is not None:
            sockets.close()
