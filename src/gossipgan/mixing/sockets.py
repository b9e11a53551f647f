"""Messages between the processes of CPUs over TCP: from a tensor's own memory into another's, without a copy.

In place of gloo's point-to-point calls, for slow networks (measured: benchmarks/network.md):

- A connection carries messages one way alone. What a receiver says in return, "go on", therefore never waits behind a
  message of its own.
- A message begins at once, but more than its first bytes follow only when the receiver is there to take it. A process
  that is ahead of others does not fill the links of those that are still busy with what went before.
- Congestion control is CUBIC where the system lets one choose. BBR, which some systems use by default, slows down now
  and then to measure the path, and in an exchange everybody waits for the slowest.

The end of a process is seen at once by those that exchange with it. A process that is silent for too long while others
wait for it counts as lost, too; one that is slow does not, as long as bytes arrive.

On the wire, a connection opens with a greeting: a token that only the run's processes have, and the sender's number.
Before that, nothing else is read. Then come messages: exchange, learner and length, then the bytes. In return comes one
byte for every long message that may go on.
"""

import hmac
import itertools
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gossipgan.mixing.connections import Address, End, Inward, LostProcessError, Message, Outward, Transfer, new_socket
from gossipgan.mixing.placement import Parcel

TOKEN_BYTES = 32

#: Seconds within which a new connection must have said who it is, and how many may be about to.
_GREETING_SECONDS = 10.0
_STRANGERS = 256

_GREETING = struct.Struct(f"<8s{TOKEN_BYTES}sI")
_MAGIC = b"gossip 1"


def listen(host: str) -> socket.socket:
    """Where others can connect to from now on, at any free port of an address of this host.

    Raises:
        OSError: it is no address of this host.
    """
    listener = new_socket(host)
    listener.bind((host, 0))
    listener.listen(_STRANGERS)
    return listener


class Sockets:
    """A process's connections to the others; one thread serves them all.

    Args:
        rank: this process's number.
        listener: of this process (see ``listen``); it is this object's from now on.
        addresses: of all processes' listeners, by number. All must be there already.
        token: ``TOKEN_BYTES`` that all of them have and nobody else.
        timeout: seconds without a byte from a process that is waited for, until it counts as lost.
    """

    def __init__(
        self, rank: int, listener: socket.socket, addresses: Sequence[Address], token: bytes, timeout: float
    ) -> None:
        if len(token) != TOKEN_BYTES:
            raise ValueError(f"a token has {TOKEN_BYTES} bytes, not {len(token)}")
        self.selector: selectors.BaseSelector = selectors.DefaultSelector()
        self._rank = rank
        self._addresses = addresses
        self._token = token
        self._timeout = timeout
        self._tick = min(1.0, timeout / 10)  # seconds between looks at who is silent
        self._due = 0.0
        self._numbers = itertools.count()
        self._submitted: deque[tuple[Transfer, int, Sequence[Parcel], Sequence[Parcel]]] = deque()
        self._outward = {
            process: Outward(self, process, address, _GREETING.pack(_MAGIC, token, rank))
            for process, address in enumerate(addresses)
            if process != rank
        }
        self._inward = {process: Inward(self, process) for process in self._outward}
        self._strangers: list[_Stranger] = []
        self._lost: dict[int, LostProcessError] = {}
        self._closing = False
        self._closed = False
        self._bell, self._ear = socket.socketpair()
        self._listener = listener
        for one in (self._bell, self._ear, listener):
            one.setblocking(False)
        self.selector.register(self._ear, selectors.EVENT_READ, self._take_up)
        self.selector.register(listener, selectors.EVENT_READ, self._accept)
        self._thread = threading.Thread(target=self._run, name="gossipgan-sockets", daemon=True)
        self._thread.start()

    def start(self, sends: Sequence[Parcel], receives: Sequence[Parcel]) -> Transfer:
        """Send tensors, and fill others with what arrives. All processes call this for the same exchanges, in order.

        Messages from one process to another arrive in the order in which both of them name them. Tensors are on the
        CPU and contiguous, and must be left alone until the transfer has been waited for.
        """
        transfer = Transfer(len(sends) + len(receives))
        self._submitted.append((transfer, next(self._numbers), sends, receives))
        self._ring()
        if self._closed:
            transfer.fail(RuntimeError("closed"))
        return transfer

    def close(self) -> None:
        """End all connections, from any thread: what waits, fails. What was sent still reaches the other ends."""
        self._closing = True
        self._ring()
        self._thread.join()

    def _ring(self) -> None:
        with suppress(OSError):  # it rings already, or nobody is there
            self._bell.send(b"!")

    # The rest runs in the thread.

    def _run(self) -> None:
        try:
            while not self._closing:
                for key, events in self.selector.select(self._tick):
                    ready: Callable[[int], None] = key.data
                    ready(events)
                if time.monotonic() >= self._due:
                    self._expire()
        finally:
            # Also after a fault of the program: nobody must wait for ever. What is begun from here on fails by itself.
            self._closed = True
            for outward, inward in zip(self._outward.values(), self._inward.values(), strict=True):
                outward.close()
                inward.fail(RuntimeError("closed"))
            while self._submitted:
                self._submitted.popleft()[0].fail(RuntimeError("closed"))
            for one in (*(stranger.connection for stranger in self._strangers), self._listener, self._ear, self._bell):
                one.close()
            self.selector.close()

    def _take_up(self, events: int) -> None:
        self._ear.recv(4096)
        while self._submitted:
            transfer, number, sends, receives = self._submitted.popleft()
            for process, learner, tensor in receives:
                if process not in self._lost:
                    self._outward[process].connect()
                self._add(self._inward[process], Message(transfer, number, learner, _memory(tensor)))
            for process, learner, tensor in sends:
                self._add(self._outward[process], Message(transfer, number, learner, _memory(tensor)))

    def _add(self, end: Inward | Outward, message: Message) -> None:
        if end.process in self._lost and not end.open:
            message.transfer.fail(self._lost[end.process])
        else:
            end.add(message)

    def _accept(self, events: int) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # gone again, or as many files are open as may be
            return
        if len(self._strangers) == _STRANGERS:
            connection.close()
            return
        connection.setblocking(False)
        stranger = _Stranger(connection, time.monotonic() + _GREETING_SECONDS)
        self._strangers.append(stranger)
        self.selector.register(connection, selectors.EVENT_READ, lambda events: self._greet(stranger))

    def _greet(self, stranger: "_Stranger") -> None:
        try:
            heard = stranger.connection.recv(_GREETING.size - len(stranger.heard))
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        stranger.heard += heard
        if heard and len(stranger.heard) < _GREETING.size:
            return
        self._part(stranger)
        if len(stranger.heard) == _GREETING.size:
            magic, token, process = _GREETING.unpack(stranger.heard)
            if hmac.compare_digest(magic + token, _MAGIC + self._token) and process in self._inward:
                inward = self._inward[process]
                if not inward.open and process not in self._lost:
                    inward.connect(stranger.connection)
                    return
        stranger.connection.close()

    def _part(self, stranger: "_Stranger") -> None:
        self._strangers.remove(stranger)
        self.selector.unregister(stranger.connection)

    def _expire(self) -> None:
        now = time.monotonic()
        self._due = now + self._tick
        for end in (*self._outward.values(), *self._inward.values()):
            if end.queue and now - end.moved > self._timeout:
                self.lose(end.process, f"has been silent for {self._timeout:g} s (mixing.timeout)", end)
        for stranger in [one for one in self._strangers if one.until < now]:
            self._part(stranger)
            stranger.connection.close()

    def lose(self, process: int, how: str, end: End) -> None:
        """Whoever waits for a process, or will, hears that it is lost; but what it has sent before still arrives."""
        error = LostProcessError(f"process {self._rank}: process {process} {how}", process)
        self._lost.setdefault(process, error)
        end.fail(error)
        self._outward[process].fail(error)
        if not self._inward[process].open:
            self._inward[process].fail(error)


@dataclass(eq=False)
class _Stranger:
    """A connection that has not said yet whose it is."""

    connection: socket.socket
    until: float
    heard: bytearray = field(default_factory=bytearray)


def _memory(tensor: Tensor) -> memoryview:
    """A tensor's own bytes."""
    return tensor.detach().view(-1).view(torch.uint8).numpy().data
