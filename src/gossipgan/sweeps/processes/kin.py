"""Processes that others make: how their work ends, and how to tell whether one still lives."""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn


def in_child(work: Callable[[], int]) -> NoReturn:
    """Do a forked process's work and end it: it never returns into what its parent was doing."""
    status = 1
    try:
        status = work()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever it is, it must not unwind into the parent's frames
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def kill_group(leader: int) -> None:
    """End a process that leads a group, and all in the group."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


class Identity(NamedTuple):
    """A process, told apart from later ones of the same number."""

    host: str
    pid: int
    started: str

    @classmethod
    def own(cls) -> "Identity":
        """This process's."""
        return cls(socket.gethostname(), os.getpid(), _started(os.getpid()))

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "Identity":
        """As ``_asdict`` wrote it."""
        return cls(str(stored["host"]), int(stored["pid"]), str(stored["started"]))

    @property
    def here(self) -> bool:
        """Whether it is a process of this host, as it runs now: another host may have the same name."""
        boot = self.started.partition(" ")[0]
        return bool(boot) and self.host == socket.gethostname() and boot == _started(os.getpid()).partition(" ")[0]

    @property
    def lives(self) -> bool:
        """Whether a process of this host is still there."""
        return bool(self.started) and _started(self.pid) == self.started


def _started(pid: int) -> str:
    """When a process was started, in the kernel's words; empty if there is none or it has ended."""
    try:
        # After the name, which may hold anything, come the state and, 19 words on, the start in clock ticks.
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = Path("/proc/self/ns/pid").readlink().name  # containers number their processes from 1 each
    except OSError:
        return ""
    return "" if words[0] in "ZX" else f"{boot}-{space} {words[19]}"
