"""One TCP connection between two processes: the end that sends messages, and the end that receives them."""

import os
import selectors
import socket
import struct
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from ipaddress import ip_address
from typing import Protocol

from gossipgan.errors import UserError

#: What may be under way of a message that its receiver has not asked for yet. It hides the way that the asking takes.
UNASKED = 64 * 1024

#: A receiver is not woken for less than this, or than what is left of a message.
_MOUTHFUL = 64 * 1024

#: Microseconds of a round trip up to which a way is short, and bytes that the kernel may hold on one. It counts them
#: twice, for what it keeps beside them; this is as much as Linux grants without asking.
_SHORT_WAY, _ON_SHORT_WAY = 5_000, 212_992

#: Where Linux's TCP_INFO has the round trip's time.
_ROUND_TRIP_AT = 68

#: Before each message: exchange, learner, length.
HEADER = struct.Struct("<QIQ")
_GO_ON = b"+"

#: Host and port.
Address = tuple[str, int]


class LostProcessError(UserError):
    """Another process has ended, or has been silent for too long.

    Attributes:
        process: its number.
    """

    def __init__(self, message: str, process: int) -> None:
        super().__init__(message)
        self.process = process


class Transfer:
    """The messages of one exchange, under way."""

    def __init__(self, messages: int) -> None:
        self._left = messages
        self._done = threading.Event()
        self._error: Exception | None = None
        if not messages:
            self._done.set()

    def wait(self) -> None:
        """Until all have arrived, and all of one's own tensors may be written to again.

        Raises:
            LostProcessError: a process at the other end has ended, or was silent for too long.
            UserError: a process sends something else than is expected.
        """
        self._done.wait()
        if self._error is not None:
            raise self._error

    def arrived(self) -> None:
        """One of the messages is where it should be."""
        self._left -= 1
        if not self._left:
            self._done.set()

    def fail(self, error: Exception) -> None:
        """The rest is not worth waiting for."""
        if not self._done.is_set():
            self._error = error
            self._done.set()


class Message:
    """A message at one of its ends.

    Args:
        transfer: that it belongs to.
        exchange: its number.
        learner: whose message it is.
        content: sent from here, or received into.
    """

    def __init__(self, transfer: Transfer, exchange: int, learner: int, content: memoryview) -> None:
        self.transfer = transfer
        self.header = HEADER.pack(exchange, learner, len(content))
        self.content = content
        self.size = HEADER.size + len(content)
        self.long = len(content) > UNASKED
        self.moved = 0  # bytes so far, the header's included


class Owner(Protocol):
    """Whom connections belong to."""

    selector: selectors.BaseSelector

    def lose(self, process: int, how: str, end: "End") -> None:
        """One end of the connections with a process has broken."""
        ...


class End:
    """What both ends have in common.

    Attributes:
        process: at the other end.
        queue: messages, in the order in which they travel.
        moved: when a byte last moved, or the queue was last begun; of ``time.monotonic()``.
    """

    def __init__(self, owner: Owner, process: int) -> None:
        self.process = process
        self.queue: deque[Message] = deque()
        self.moved = time.monotonic()
        self._owner = owner
        self._socket: socket.socket | None = None
        self._watched = 0

    @property
    def open(self) -> bool:
        return self._socket is not None

    def fail(self, error: Exception) -> None:
        """Give up all messages, and the connection."""
        while self.queue:
            self.queue.popleft().transfer.fail(error)
        if self._socket is not None:
            self._watch(self._socket, 0)
            self._socket.close()
            self._socket = None

    def _add(self, message: Message) -> None:
        if not self.queue:
            self.moved = time.monotonic()
        self.queue.append(message)

    def _move(self, message: Message, count: int) -> bool:
        """Take note of bytes that have moved; says whether the message is complete, which then leaves the queue."""
        message.moved += count
        self.moved = time.monotonic()
        if message.moved < message.size:
            return False
        self.queue.popleft()
        message.transfer.arrived()
        return True

    def _watch(self, connection: socket.socket, events: int) -> None:
        """Have ``_ready`` called for these events from now on."""
        selector = self._owner.selector
        if events == self._watched:
            return
        if not self._watched:
            selector.register(connection, events, self._ready)
        elif events:
            selector.modify(connection, events, self._ready)
        else:
            selector.unregister(connection)
        self._watched = events

    def _ready(self, events: int) -> None:
        if self._socket is None:
            return
        try:
            self._serve(self._socket, events)
        except BlockingIOError:
            pass  # called again when it would not block
        except OSError as error:
            self._break(error)

    def _break(self, error: OSError) -> None:
        self._owner.lose(self.process, f"has ended ({(error.strerror or str(error)).lower()})", self)

    def _serve(self, connection: socket.socket, events: int) -> None:
        """Do what can be done without waiting."""
        raise NotImplementedError


class Outward(End):
    """The end that sends; it opens the connection.

    Args:
        address: where the process listens.
        greeting: what it must hear first.
    """

    def __init__(self, owner: Owner, process: int, address: Address, greeting: bytes) -> None:
        super().__init__(owner, process)
        self._address = address
        self._greeting = greeting
        self._asked = 0  # long messages that the receiver has asked for, less those that it has

    def add(self, message: Message) -> None:
        """Send a message, after those before it."""
        self._add(message)
        self.connect()
        if self._socket is not None:
            self._watch(self._socket, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def connect(self) -> None:
        """Open the connection, if it is not. That alone shows when the other process ends."""
        if self._socket is not None:
            return
        self._socket = new_socket(self._address[0])
        self._socket.setblocking(False)
        try:
            with suppress(BlockingIOError):
                self._socket.connect(self._address)
        except OSError as error:
            self._break(error)
        else:
            self._watch(self._socket, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def close(self) -> None:
        """End the connection; what has been sent still arrives."""
        if self._socket is not None:
            # If anything were left unread, the kernel would throw away what the other end has not taken yet.
            with suppress(OSError):
                while self._socket.recv(4096):
                    pass
        self.fail(RuntimeError("closed"))

    def _serve(self, connection: socket.socket, events: int) -> None:
        if self._greeting:
            error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                raise OSError(error, os.strerror(error))
            self._greeting = self._greeting[connection.send(self._greeting) :]
            _hold_back(connection)
        if events & selectors.EVENT_READ:
            heard = connection.recv(4096)
            if not heard:
                raise OSError("connection closed")
            self._asked += len(heard)
        if events & selectors.EVENT_WRITE:
            self._send(connection)
        waiting = self.queue and self.queue[0].moved < self._allowed(self.queue[0])
        self._watch(connection, selectors.EVENT_READ | (selectors.EVENT_WRITE if waiting else 0))

    def _allowed(self, message: Message) -> int:
        return message.size if self._asked or not message.long else HEADER.size + UNASKED

    def _send(self, connection: socket.socket) -> None:
        while self.queue:
            message = self.queue[0]
            allowed = self._allowed(message) - HEADER.size
            done = message.moved - HEADER.size
            if done < 0:
                count = connection.sendmsg([message.header[message.moved :], message.content[:allowed]])
            elif done < allowed:
                count = connection.send(message.content[done:allowed])
            else:
                return
            if not self._move(message, count):
                return
            self._asked -= message.long


class Inward(End):
    """The end that receives; the other end opens the connection."""

    def __init__(self, owner: Owner, process: int) -> None:
        super().__init__(owner, process)
        self._header = bytearray(HEADER.size)
        self._mouthful = 1  # as set for the socket
        self._asking = 0  # long messages that are yet to be asked for

    def add(self, message: Message) -> None:
        """Receive a message, after those before it."""
        self._add(message)
        self._asking += message.long
        if self._socket is not None:
            self._expect(self._socket)

    def connect(self, connection: socket.socket) -> None:
        """Take over a connection on which the process has said who it is."""
        self._socket = connection
        self._expect(connection)

    def _expect(self, connection: socket.socket) -> None:
        if self._asking:
            connection.send(_GO_ON * self._asking)  # few bytes, which always find room
            self._asking = 0
        if self.queue:
            self._open_mouth(connection, self.queue[0].size - self.queue[0].moved)
        self._watch(connection, selectors.EVENT_READ if self.queue else 0)

    def _open_mouth(self, connection: socket.socket, left: int) -> None:
        mouthful = min(_MOUTHFUL, left)
        if mouthful != self._mouthful:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, mouthful)
            self._mouthful = mouthful

    def _serve(self, connection: socket.socket, events: int) -> None:
        message = self.queue[0]
        done = message.moved - HEADER.size
        if done < 0:
            count = connection.recvmsg_into([memoryview(self._header)[message.moved :], message.content])[0]
        else:
            count = connection.recv_into(message.content[done:])
        if not count:
            raise OSError("connection closed")
        if done < 0 <= done + count and self._header != message.header:
            self._owner.lose(self.process, _disagreement(self._header, message.header), self)
            return
        self._move(message, count)
        self._expect(connection)


def new_socket(host: str) -> socket.socket:
    """A TCP socket for addresses like this, which does not wait for more to send, with CUBIC where one may choose."""
    new = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    new.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_CONGESTION"):
        with suppress(OSError):
            new.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return new


def _hold_back(connection: socket.socket) -> None:
    """Where the way is short, keep no more in the kernel's hands than fills it.

    More would wait in queues on the way, and the other messages with it.
    """
    if not sys.platform.startswith("linux"):
        return
    information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ROUND_TRIP_AT + 4)
    (microseconds,) = struct.unpack_from("I", information, _ROUND_TRIP_AT)
    if microseconds < _SHORT_WAY and not ip_address(connection.getpeername()[0]).is_loopback:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ON_SHORT_WAY)


def _disagreement(got: bytes | bytearray, expected: bytes) -> str:
    words = "exchange {}, learner {}, {} bytes"
    return (
        f"sends {words.format(*HEADER.unpack(got))} where {words.format(*HEADER.unpack(expected))} are due; "
        "start all processes with the same command, on the same version"
    )
