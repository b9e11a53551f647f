"""Several processes of one run, without training."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from gossipgan.sweeps.processes import Nursery, outcome_of_exit
from gossipgan.sweeps.processes.outcome import BROKEN, DONE, MISTAKE, OUT_OF_MEMORY, UNSCORED
from gossipgan.sweeps.processes.ranks import most_telling, run_ranks

KILLED = -signal.SIGKILL


def _lead(request: dict[str, Any]) -> int:
    return run_ranks(request["processes"], lambda: _work(Path(request["folder"]), request))


def _work(folder: Path, request: dict[str, Any]) -> int:
    rank = int(os.environ["RANK"])
    (folder / f"pid-{rank}").write_text(str(os.getpid()))
    if request.get("meet"):
        import torch
        import torch.distributed as dist

        dist.init_process_group("gloo")
        value = torch.tensor([10.0**rank])
        dist.all_reduce(value)
        (folder / f"sum-{rank}").write_text(str(int(value)))
        dist.destroy_process_group()
    if request.get("dies") == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    if request.get("returns"):
        return int(request["returns"][rank])
    if request.get("sleeps"):
        time.sleep(600)
    return 0


def _ended(nursery: Nursery, pid: int) -> int:
    ended: dict[int, int] = {}
    while pid not in ended:
        ended.update(nursery.ended(1.0))
    return ended[pid]


def _pids(folder: Path, count: int) -> list[int]:
    deadline = time.monotonic() + 300
    while sum(bool(path.read_text()) for path in folder.glob("pid-*")) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return [int((folder / f"pid-{rank}").read_text()) for rank in range(count)]


def _gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 300
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_processes_meet_as_torchrun_lets_them_and_are_of_one_group(tmp_path: Path) -> None:
    nursery = Nursery(lambda: None, _lead)
    leader = nursery.spawn({"processes": 3, "folder": str(tmp_path), "meet": True})
    assert _ended(nursery, leader) == 0
    assert [(tmp_path / f"sum-{rank}").read_text() for rank in range(3)] == ["111"] * 3
    nursery.close()


def test_when_one_is_killed_the_others_are_ended_and_its_signal_is_told(tmp_path: Path) -> None:
    nursery = Nursery(lambda: None, _lead)
    leader = nursery.spawn({"processes": 3, "folder": str(tmp_path), "dies": 1, "sleeps": True})
    status = _ended(nursery, leader)
    assert outcome_of_exit(status, 0) == ("crashed", True, "ended by SIGKILL")
    assert outcome_of_exit(status, 1)[0] == "out-of-memory"
    assert _gone(_pids(tmp_path, 3))
    nursery.close()


@pytest.mark.parametrize("whom", ["the leader", "the group"])
def test_nobody_outlives_the_leader(tmp_path: Path, whom: str) -> None:
    nursery = Nursery(lambda: None, _lead)
    leader = nursery.spawn({"processes": 2, "folder": str(tmp_path), "sleeps": True})
    pids = _pids(tmp_path, 2)
    assert {os.getpgid(pid) for pid in pids} == {leader}
    if whom == "the leader":
        os.kill(leader, signal.SIGKILL)
    else:
        os.killpg(leader, signal.SIGKILL)
    assert _ended(nursery, leader) == KILLED
    assert _gone(pids)
    nursery.close()


@pytest.mark.parametrize(
    ("statuses", "telling"),
    [
        ((DONE, DONE), DONE),
        ((MISTAKE, OUT_OF_MEMORY, 1), OUT_OF_MEMORY),  # the others saw a connection break
        ((MISTAKE, KILLED), 128 + signal.SIGKILL),
        ((1, UNSCORED), UNSCORED),
        ((MISTAKE, BROKEN), BROKEN),
        ((DONE, MISTAKE), MISTAKE),
    ],
)
def test_of_several_failures_the_one_that_says_why_is_told(statuses: tuple[int, ...], telling: int) -> None:
    assert most_telling(statuses) == telling
