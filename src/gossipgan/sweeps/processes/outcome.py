"""What becomes of a trial."""

import signal
from pathlib import Path
from typing import Literal

#: ``stopped``: its sweep was stopped first; it waits to be gone on with.
Outcome = Literal["ok", "pruned", "diverged", "crashed", "out-of-memory", "timed-out", "stopped"]

#: Outcomes of trials that have ended, and from which the sampler has learned what there is to learn.
KNOWN: tuple[Outcome, ...] = ("ok", "pruned", "diverged")

#: Exit statuses of a trial's process. UNSCORED: a score came out as no number.
DONE, OUT_OF_MEMORY, MISTAKE, BROKEN, UNSCORED = 0, 3, 4, 5, 6

#: From here on exit statuses are signals, as shells have it.
_SIGNALS = 128


def status_of_signal(number: int) -> int:
    """Exit status of a process that stands for another, which a signal ended."""
    return _SIGNALS + number


def outcome_of_exit(status: int, oom_kills: int) -> tuple[Outcome | None, bool, str]:
    """What the end of a trial's process means.

    Args:
        status: exit status; negative: the signal that ended it.
        oom_kills: processes that the kernel ended for want of memory while it ran.

    Returns:
        The outcome, or None where the run's result tells it; whether another try may end otherwise; and what to say.
    """
    if status > _SIGNALS:
        status = _SIGNALS - status
    if status == DONE:
        return None, False, ""
    if status == OUT_OF_MEMORY:
        return "out-of-memory", False, "the device's memory was not enough"
    if status == -signal.SIGKILL and oom_kills:
        return "out-of-memory", False, "the machine's memory was not enough"
    if status == UNSCORED:
        return "diverged", False, ""
    if status == MISTAKE:
        return "crashed", False, ""
    if status < 0:
        return "crashed", True, f"ended by {signal.Signals(-status).name}"
    return "crashed", True, ""


def count_oom_kills() -> int:
    """Processes that the kernel has ended for want of memory since it started; 0 where it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
