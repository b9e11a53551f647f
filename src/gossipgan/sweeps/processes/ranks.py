"""The processes of one run, forked by one that waits for them all: its group is theirs, and nobody outlives it.

``gossipgan train --processes`` starts its processes anew, each with all its imports. Here everything is imported
already, so they are forked, and find in their environment what torchrun would have put there.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial

from gossipgan.runs.parent import die_with_parent
from gossipgan.sweeps.processes.kin import in_child
from gossipgan.sweeps.processes.outcome import MISTAKE, OUT_OF_MEMORY, UNSCORED, status_of_signal

_HOST = "127.0.0.1"
#: Seconds that the others have, after one has failed, to say what they know of it.
_GRACE = 2.0


def run_ranks(processes: int, work: Callable[[], int]) -> int:
    """Do a work in several processes at once; when one fails, the others are ended.

    Must be called before this process has threads or a device.

    Args:
        processes: how many.
        work: what each does; returns its exit status.

    Returns:
        An exit status: 0 where all ended well, else the one that says most; of a signal 128 and its number.
    """
    leader = os.getpid()
    listener = socket.create_server((_HOST, 0), backlog=4 * processes)
    port = listener.getsockname()[1]
    sys.stdout.flush()
    sys.stderr.flush()
    ranks = set()
    for rank in range(processes):
        child = os.fork()
        if child == 0:
            listener.close()
            in_child(partial(_be, rank, processes, port, leader, work))
        ranks.add(child)
    # Only now, as it has threads. The processes' connections wait in the listener meanwhile.
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    store = TCPStore(_HOST, port, processes, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach())
    status = _wait(ranks)
    del store  # it is kept until here
    return status


def _be(rank: int, processes: int, port: int, leader: int, work: Callable[[], int]) -> int:
    die_with_parent(leader)
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(processes),
        MASTER_ADDR=_HOST,
        MASTER_PORT=str(port),
        TORCHELASTIC_USE_AGENT_STORE="True",  # who leads has the store, and not the process of rank 0
    )
    return work()


def _wait(ranks: set[int]) -> int:
    """Wait until all have ended, the others soon after the first that failed."""
    statuses: list[int] = []
    failed: float | None = None
    while ranks:
        pid, status = os.waitpid(-1, 0 if failed is None else os.WNOHANG)
        if pid in ranks:
            ranks.discard(pid)
            statuses.append(os.waitstatus_to_exitcode(status))
            if statuses[-1] != 0 and failed is None:
                failed = time.monotonic()
        elif failed is not None and time.monotonic() - failed > _GRACE:
            for rank in ranks:
                os.kill(rank, signal.SIGKILL)
            for rank in ranks:
                os.waitpid(rank, 0)
            break
        else:
            time.sleep(0.02)
    return most_telling(statuses)


def most_telling(statuses: Iterable[int]) -> int:
    """Of the exit statuses of processes that failed together the one that says why, as an exit status.

    Those whose connection to another broke know only that: they may call it a mistake, or end in a traceback.
    """

    def says_little(status: int) -> int:
        if status in (OUT_OF_MEMORY, UNSCORED):
            return 0
        if status < 0:
            return 1
        return {MISTAKE: 3, 0: 4}.get(status, 2)

    status = min(statuses, key=says_little)
    return status if status >= 0 else status_of_signal(-status)
