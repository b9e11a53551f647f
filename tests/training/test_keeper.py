"""The process that watches the others: who is lost, who is not, and what is said of it."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from gossipgan.errors import UserError
from gossipgan.training import check_rewirable, keep

#: A member that counts rounds of a sum over all members, and leaves its number where the test can find it. After a loss
#: it goes on from the last round that all have ended. It ends when the file "enough" is there.
MEMBER = """
import os, sys
from pathlib import Path
import torch
from gossipgan.mixing.elastic import Elastic, LostError
from gossipgan.mixing.membership import Membership

rank, processes, folder = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), Path(sys.argv[1])
torch.set_num_threads(1)
(folder / f"{rank}.pid").write_text(str(os.getpid()))
group = Elastic(2 * processes, rank, processes, Membership.inherited())
points = [0]
while True:
    try:
        total = torch.tensor([float(len(group.local))])
        group.sum(total)
        assert total == group.learners, (total, group.learners)
        everybody = group.gather([torch.tensor([rank, place]) for place in group.local])
        if group.main:
            places = [one[1] for one in everybody]
            assert places == list(range(group.learners)), places
        enough = group.share([(folder / "enough").exists(), points[-1] + 1])
        group.barrier()
        points = [*points[-1:], enough[1]]
        (folder / f"{rank}.round").write_text(str(points[-1]))
        if enough[0]:
            break
    except LostError:
        point, losses = group.regroup(points)
        assert points[-1] - point in (0, 1)
        points = [point]
        with (folder / f"{rank}.lost").open("a") as file:
            file.write(f"{[(loss.rank, list(loss.learners)) for loss in losses]} {group.learners} {group.main}\\n")
group.close()
"""

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes as Linux shows them")


class _Watched:
    """Members under a keeper, in a thread of its own."""

    def __init__(self, folder: Path, processes: int, timeout: float) -> None:
        self.folder = folder
        self.error: UserError | None = None
        (folder / "member.py").write_text(MEMBER)
        command = [sys.executable, str(folder / "member.py"), str(folder)]
        self._thread = threading.Thread(target=self._keep, args=(processes, command, timeout))
        self._thread.start()

    def _keep(self, processes: int, command: list[str], timeout: float) -> None:
        try:
            keep(processes, command, timeout)
        except UserError as error:
            self.error = error

    def read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def wait_for(self, name: str, text: str = "") -> None:
        deadline = time.monotonic() + 600
        while not self.read(name) or text not in self.read(name):
            assert self._thread.is_alive(), self.error
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def send(self, rank: int, number: signal.Signals) -> None:
        os.kill(int(self.read(f"{rank}.pid")), number)

    def end(self) -> None:
        (self.folder / "enough").touch()
        self._thread.join(600)
        assert not self._thread.is_alive()


@linux
def test_who_is_killed_or_stopped_is_lost_and_the_others_begin_anew_together(tmp_path: Path) -> None:
    watched = _Watched(tmp_path, 4, timeout=3.0)
    for rank in range(4):
        watched.wait_for(f"{rank}.round")
    watched.send(0, signal.SIGKILL)
    for rank in (1, 2, 3):
        watched.wait_for(f"{rank}.lost", "[(0, [0, 1])] 6 ")
    watched.send(2, signal.SIGSTOP)  # silent, and not dead
    for rank in (1, 3):
        watched.wait_for(f"{rank}.lost", "[(2, [2, 3])] 4 ")
    watched.end()
    assert watched.error is None
    assert watched.read("1.lost").splitlines() == ["[(0, [0, 1])] 6 True", "[(2, [2, 3])] 4 True"]
    assert watched.read("3.lost").splitlines() == ["[(0, [0, 1])] 6 False", "[(2, [2, 3])] 4 False"]
    assert int(watched.read("1.round")) == int(watched.read("3.round")) > 0


@linux
def test_the_loss_of_the_last_is_one_line_that_names_it(tmp_path: Path) -> None:
    watched = _Watched(tmp_path, 2, timeout=60.0)
    for rank in range(2):
        watched.wait_for(f"{rank}.round")
    watched.send(1, signal.SIGKILL)
    watched.wait_for("0.lost")
    watched.send(0, signal.SIGKILL)
    watched.end()
    assert str(watched.error) == (
        "process 0 of 2 was ended by SIGKILL, as the last that was left, and the run was stopped; the same command "
        "goes on from the last checkpoint"
    )


@pytest.mark.parametrize(
    ("does", "how"), [("sys.exit(3)", "ended with status 3"), ("os.kill(os.getpid(), 9)", "was ended by SIGKILL")]
)
def test_an_error_or_an_end_before_all_were_there_stops_the_run(does: str, how: str) -> None:
    code = f"import os, sys, time\nif os.environ['RANK'] == '1': {does}\ntime.sleep(600)"
    with pytest.raises(UserError) as stopped:
        keep(3, [sys.executable, "-c", code], 60.0)
    assert str(stopped.value) == (
        f"process 1 of 3 {how}, and the run was stopped; the same command goes on from the last checkpoint"
    )


@linux
def test_processes_end_with_their_keeper_though_they_do_not_listen_to_it_yet() -> None:
    member = "print('here', flush=True); import time; time.sleep(900)"
    keeper = f"import sys; from gossipgan.training import keep; keep(3, [sys.executable, '-c', {member!r}], 60.0)"
    watched = subprocess.Popen([sys.executable, "-c", keeper], stdout=subprocess.PIPE)
    assert watched.stdout is not None
    with watched:
        assert [watched.stdout.readline() for _ in range(3)] == [b"here\n"] * 3
        watched.kill()
        # The output ends when the last of those that write to it has ended.
        assert watched.communicate(timeout=300) == (b"", None)


def test_all_that_end_well_are_waited_for(tmp_path: Path) -> None:
    code = "import os, pathlib, sys; pathlib.Path(sys.argv[1], os.environ['RANK']).touch()"
    keep(3, [sys.executable, "-c", code, str(tmp_path)], 60.0)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2"}


def test_gpus_are_refused_in_a_line() -> None:
    with pytest.raises(UserError, match=r"mixing.on_loss: rewire is for processes on CPUs: NCCL"):
        check_rewirable(torch.device("cuda", 0))
