import signal

import pytest

from gossipgan.sweeps.processes import outcome_of_exit
from gossipgan.sweeps.processes.outcome import BROKEN, DONE, MISTAKE, OUT_OF_MEMORY


@pytest.mark.parametrize(
    ("status", "oom_kills", "outcome", "again"),
    [
        (DONE, 0, None, False),
        (OUT_OF_MEMORY, 0, "out-of-memory", False),
        (-signal.SIGKILL, 1, "out-of-memory", False),
        (-signal.SIGKILL, 0, "crashed", True),
        (-signal.SIGSEGV, 1, "crashed", True),
        (BROKEN, 0, "crashed", True),
        (MISTAKE, 0, "crashed", False),
    ],
)
def test_only_failures_of_the_machine_are_tried_again(
    status: int, oom_kills: int, outcome: str | None, again: bool
) -> None:
    assert outcome_of_exit(status, oom_kills)[:2] == (outcome, again)
