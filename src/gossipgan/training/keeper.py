"""Processes that go on when one of them dies: started and watched by one that knows who is left.

It is the parent of all of them, so that the kernel tells it of every death, and ends them when it dies. It decides who
belongs to the run and when those that are left go on, and from where (see ``mixing.membership``, and ``mixing.elastic``
for why nothing is lost).

A process is lost when a signal ends it, the out-of-memory killer's among them, or when it gives no sign of life for too
long: then it is ended. Signs of life are what it says and, on Linux, any time on a processor, so that a process that
waits for a busy machine is not taken for one that is stopped. One that ends itself with an error has met something that
others would meet, too: that stops the run, as does the loss of the last.
"""

import json
import os
import secrets
import selectors
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gossipgan.errors import UserError
from gossipgan.mixing.connections import Address
from gossipgan.mixing.membership import KEEPER, View
from gossipgan.mixing.sockets import TOKEN_BYTES
from gossipgan.runs.parent import die_with_parent
from gossipgan.training.launch import how_it_ended, stopped

#: Seconds between looks at who has ended.
_LOOK = 0.1

#: Rounds in a row without a loss after which processes that find each other lost are not believed.
_FALSE_ALARMS = 3

#: Where processes of one host reach each other.
_HOST = "127.0.0.1"


def keep(processes: int, command: Sequence[str], timeout: float) -> None:
    """Run a command in several processes on this host, as long as one is left.

    Args:
        processes: how many, at least 1.
        command: of each of them; they find in their environment what torchrun would have put there, and their keeper.
        timeout: seconds without a sign of life after which a process is ended.

    Raises:
        UserError: one ended with an error, or none is left; in one line that names the process.
    """
    keeper = _Keeper(processes, timeout)
    try:
        keeper.start(command)
        keeper.watch()
    finally:
        keeper.end()


@dataclass(eq=False)
class _Kept:
    """A process.

    Attributes:
        rank: its number.
        alive: when it last gave a sign of life, of ``time.monotonic()``; None before the first, as to start takes time.
        worked: how long it had been on processors when that was last looked at.
        ready: since the last view, from which points, and where it listens; None: not yet.
        silent: whether it was ended for its silence.
    """

    rank: int
    process: "subprocess.Popen[bytes]"
    channel: socket.socket
    heard: bytes = b""
    alive: float | None = None
    worked: int = 0
    ready: tuple[list[int], Address] | None = None
    silent: bool = False

    def say(self, line: dict[str, Any]) -> None:
        with suppress(OSError):  # it has ended, which shows elsewhere
            self.channel.sendall(json.dumps(line).encode() + b"\n")


class _Keeper:
    def __init__(self, processes: int, timeout: float) -> None:
        self._processes = processes
        self._timeout = timeout
        self._left: dict[int, _Kept] = {}
        self._selector = selectors.DefaultSelector()
        self._gathering = True  # whether a view is to come
        self._viewed = False  # whether there has been one
        self._finished = False  # whether somebody has ended well: all work is done then
        self._losses: list[tuple[int, str]] = []  # since the last view
        self._false_alarms = 0

    def start(self, command: Sequence[str]) -> None:
        for rank in range(self._processes):
            mine, theirs = socket.socketpair()
            environment = {
                "OMP_NUM_THREADS": "1",
                **os.environ,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(self._processes),
                "MASTER_ADDR": _HOST,
                KEEPER: str(theirs.fileno()),
            }
            process = subprocess.Popen(
                command,
                env=environment,
                pass_fds=(theirs.fileno(),),
                # Ctrl-C is for this process, which ends those: they have a group of their own.
                process_group=0,
                # Not only once they listen to this process: to import all they need takes them seconds.
                preexec_fn=partial(die_with_parent, os.getpid()),
            )
            theirs.close()
            self._left[rank] = _Kept(rank, process, mine)
            self._selector.register(mine, selectors.EVENT_READ, self._left[rank])

    def watch(self) -> None:
        while self._left:
            for key, _ in self._selector.select(_LOOK):
                self._listen(key.data)
            for one in [*self._left.values()]:
                self._look(one)
            if self._gathering and self._left and all(one.ready for one in self._left.values()):
                self._send_view()
        if not self._finished:
            rank, how = self._losses[-1]
            raise stopped(rank, self._processes, how + ", as the last that was left")

    def end(self) -> None:
        """End what is left."""
        for one in self._left.values():
            one.process.kill()
        for one in self._left.values():
            one.process.wait()
            one.channel.close()
        self._selector.close()

    def _listen(self, one: _Kept) -> None:
        try:
            more = one.channel.recv(65536)
        except OSError:
            more = b""
        if not more:
            self._selector.unregister(one.channel)
            one.process.wait()  # nobody else has its end of the socket
            return
        *lines, one.heard = (one.heard + more).split(b"\n")
        one.alive = time.monotonic()
        for said in map(json.loads, lines):
            if "ready" in said:
                host, port = said["address"]
                one.ready = (said["ready"], (host, port))
                self._gather()

    def _look(self, one: _Kept) -> None:
        status = one.process.poll()
        if status is None:
            if one.alive is not None and time.monotonic() - one.alive > self._timeout / 2:
                worked = _worked(one.process.pid)
                if worked != one.worked:
                    one.worked, one.alive = worked, time.monotonic()
                elif time.monotonic() - one.alive > self._timeout:
                    one.silent = True
                    one.process.kill()
            return
        del self._left[one.rank]
        with suppress(KeyError):
            self._selector.unregister(one.channel)
        one.channel.close()
        if status == 0:
            self._finished = True
            return
        how = f"was silent for {self._timeout:g} s (mixing.timeout)" if one.silent else how_it_ended(status)
        if self._finished:
            return
        if status > 0 or not self._viewed:
            # Whoever misses a process that was lost before all could go on without it says so: that one is to blame.
            rank, how = self._losses[0] if self._losses else (one.rank, how)
            raise stopped(rank, self._processes, how)
        self._losses.append((one.rank, how))
        self._gather()

    def _gather(self) -> None:
        """Have all that are left give up what is under way, and get ready for a new view."""
        if self._gathering:
            return
        self._gathering = True
        for one in self._left.values():
            if one.ready is None:
                one.say({"gone": True})

    def _send_view(self) -> None:
        members = sorted(self._left)
        ready = {rank: one.ready for rank, one in self._left.items() if one.ready is not None}
        self._false_alarms = 0 if self._losses or not self._viewed else self._false_alarms + 1
        if self._false_alarms == _FALSE_ALARMS:
            raise UserError(
                f"processes find each other lost, though all of {', '.join(map(str, members))} are there; the run was "
                "stopped, and the same command goes on from the last checkpoint"
            )
        shared = set.intersection(*(set(points) for points, _ in ready.values()))
        view = View(
            members=members,
            addresses=[ready[rank][1] for rank in members],
            token=secrets.token_hex(TOKEN_BYTES),
            point=max(shared, default=0),
        )
        for one in self._left.values():
            one.ready = None
            one.say({"view": view._asdict()})
        self._gathering, self._viewed, self._losses = False, True, []


def _worked(process: int) -> int:
    """Time that a process has been on processors, in the kernel's ticks; 0 where it does not say."""
    try:
        # After the name, which may hold anything, come the state and, 11 words on, the times of the program and for it.
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(words[11]) + int(words[12])
