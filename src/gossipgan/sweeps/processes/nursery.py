"""A fork server: a process that has imported what is heavy, and makes others that need not import it again.

It is forked while its owner is still young: before that has threads, an open database or a device. What it makes lead
process groups of their own, so that Ctrl-C in a terminal reaches the owner alone; and each ends with its parent, so
that nobody is left over, however the owner ends.
"""

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gossipgan.runs.parent import die_with_parent
from gossipgan.sweeps.processes.kin import in_child, kill_group

Request = dict[str, Any]

#: Signals that ask a process to end.
_ENDING = (signal.SIGINT, signal.SIGTERM)


class Nursery:
    """The owner's end.

    Args:
        prepare: called once in the server: imports.
        target: what a made process does with its request; what it returns is its exit status.
    """

    def __init__(self, prepare: Callable[[], None], target: Callable[[Request], int]) -> None:
        ours, theirs = socket.socketpair()
        owner = os.getpid()
        self._ended: list[tuple[int, int]] = []
        self._pending = b""
        sys.stdout.flush()
        sys.stderr.flush()
        self._server = os.fork()
        if self._server == 0:
            ours.close()
            in_child(lambda: _Server(theirs, owner, target).serve(prepare))
        theirs.close()
        self._socket = ours

    def spawn(self, request: Request) -> int:
        """Make a process; returns its number, which is that of its group, too."""
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        started: int | None = None
        while started is None:
            for kind, pid, status in self._receive(None):
                if kind == "started":
                    started = pid
                else:
                    self._ended.append((pid, status))
        return started

    def ended(self, timeout: float) -> list[tuple[int, int]]:
        """Processes that have ended since the last call, with their exit statuses (negative: by that signal).

        Args:
            timeout: seconds to wait for the first of them.
        """
        if not self._ended:
            self._ended.extend((pid, status) for _, pid, status in self._receive(timeout))
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """End the server, and with it all that it made."""
        self._socket.close()
        os.waitpid(self._server, 0)

    def _receive(self, timeout: float | None) -> list[tuple[str, int, int]]:
        if not select.select([self._socket], [], [], timeout)[0]:
            return []
        received = self._socket.recv(65536)
        if not received:
            raise ChildProcessError("the process that makes processes has died")
        *lines, self._pending = (self._pending + received).split(b"\n")
        return [(one["kind"], one["pid"], one["status"]) for one in map(json.loads, lines)]


class _Server:
    """The server's end: one thread that waits for requests and for the ends of its children."""

    def __init__(self, connection: socket.socket, owner: int, target: Callable[[Request], int]) -> None:
        self._connection = connection
        self._owner = owner
        self._target = target
        self._children: set[int] = set()

    def serve(self, prepare: Callable[[], None]) -> int:
        os.setpgid(0, 0)
        die_with_parent(self._owner)
        # A cluster signals every process of a job; this one ends with its owner, after those that put trials back.
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        prepare()
        self._woken, alarm = os.pipe()
        os.set_blocking(alarm, False)
        self._alarm = alarm
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        pending = b""
        while True:
            watched: list[socket.socket | int] = [self._connection, self._woken]
            readable, _, _ = select.select(watched, [], [])
            if self._woken in readable:
                os.read(self._woken, 4096)
                self._reap()
            if self._connection in readable:
                received = b""
                with suppress(ConnectionResetError):  # the owner has died with an answer unread
                    received = self._connection.recv(65536)
                if not received:
                    break
                *lines, pending = (pending + received).split(b"\n")
                for line in lines:
                    self._make(json.loads(line))
        for child in self._children:
            kill_group(child)
        for child in self._children:
            os.waitpid(child, 0)
        return 0

    def _make(self, request: Request) -> None:
        server = os.getpid()
        child = os.fork()
        if child == 0:
            in_child(lambda: self._born(server, request))
        with suppress(PermissionError, ProcessLookupError):  # by both, since either may come first
            os.setpgid(child, child)
        self._children.add(child)
        self._say("started", child, 0)

    def _born(self, server: int, request: Request) -> int:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, *_ENDING):
            signal.signal(number, signal.SIG_DFL)
        os.close(self._woken)
        os.close(self._alarm)
        self._connection.close()
        os.setpgid(0, 0)
        die_with_parent(server)
        return self._target(request)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._children.discard(pid)
            self._say("ended", pid, os.waitstatus_to_exitcode(status))

    def _say(self, kind: str, pid: int, status: int) -> None:
        self._connection.sendall(json.dumps({"kind": kind, "pid": pid, "status": status}).encode() + b"\n")
