"""Processes that end with their parents."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
#: Found here, as to look for it in a process that has just been forked from one with threads might wait for ever.
_C = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Let the kernel end this process when its parent dies, however that dies (Linux).

    It holds for what this process turns into by ``exec``, too, but not for its own children.

    Args:
        parent: the process that made this one; if it is gone already, this one ends at once.
    """
    if sys.platform == "linux":
        _C.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
