"""Which test process runs what: a file's tests stay together, and files whose tests take long come first."""

from pathlib import PurePosixPath

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

#: Folders of tests that take long: who has nothing left to do at the end then waits for short ones only.
_SLOW = ("system", "sweeps", "cli", "training", "tracking", "evaluation")


class ByFile(LoadScopeScheduling):
    """Deals out files.

    With pytest 9.2, pytest-xdist 3.8 no longer sees its own groups: ``--dist loadgroup`` dealt out single tests, and
    each process made every costly fixture of a file for itself.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # not by the number of tests

    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.partition("::")[0])
        if "network" in path.parts or path.stem == "test_bench":
            return "tests/network"  # they make hosts on this machine, and are not to meet
        if "evaluation" in path.parts:
            return "tests/evaluation"  # they share an extractor
        return str(path)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=_turn), last=False)
        super()._assign_work_unit(node)


def _turn(scope: str) -> int:
    return next((turn for turn, folder in enumerate(_SLOW) if folder in PurePosixPath(scope).parts), len(_SLOW))
