"""With real processes: what is made ends when its maker does, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gossipgan.runs import write_atomic
from gossipgan.sweeps.processes import Identity, Nursery

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def _target(request: dict[str, Any]) -> int:
    if "raises" in request:
        raise RuntimeError(request["raises"])
    if "writes" in request:
        write_atomic(Path(request["writes"]), f"{os.getpid()} {os.getpgid(0)}")
    time.sleep(request.get("sleeps", 0))
    return int(request.get("returns", 0))


def _wait(nursery: Nursery, wanted: set[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    deadline = time.monotonic() + 60
    while not wanted <= found.keys() and time.monotonic() < deadline:
        found.update(nursery.ended(1.0))
    return found


def test_it_tells_how_each_process_ended(tmp_path: Path) -> None:
    nursery = Nursery(lambda: None, _target)
    one = nursery.spawn({"returns": 7})
    broken = nursery.spawn({"raises": "no"})
    leader = nursery.spawn({"writes": str(tmp_path / "group"), "sleeps": 600})
    deadline = time.monotonic() + 60
    while not (tmp_path / "group").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(leader, signal.SIGKILL)
    assert _wait(nursery, {one, broken, leader}) == {one: 7, broken: 1, leader: -signal.SIGKILL}
    assert (tmp_path / "group").read_text() == f"{leader} {leader}"
    nursery.close()


def test_no_end_is_missed_where_many_come_at_once() -> None:
    nursery = Nursery(lambda: None, _target)
    made = {nursery.spawn({"returns": 3}) for _ in range(50)}
    assert _wait(nursery, made) == dict.fromkeys(made, 3)
    nursery.close()


def test_closing_it_ends_what_it_made(tmp_path: Path) -> None:
    nursery = Nursery(lambda: None, _target)
    child = nursery.spawn({"sleeps": 600})
    nursery.close()
    assert not Path(f"/proc/{child}").exists()


OWNER = """
import os, sys, time
from pathlib import Path
from gossipgan.runs import write_atomic
from gossipgan.sweeps.processes import Nursery

def inner(request):
    write_atomic(Path(request["writes"]), str(os.getpid()))
    time.sleep(600)
    return 0

def outer(request):
    kept = Nursery(lambda: None, inner)
    kept.spawn(request)
    time.sleep(600)
    return 0

kept = Nursery(lambda: None, outer)
kept.spawn({"writes": sys.argv[1]})
time.sleep(600)
"""


def test_grandchildren_of_a_killed_owner_are_gone(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path / "pid")])
    deadline = time.monotonic() + 300
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    grandchild = int((tmp_path / "pid").read_text())
    assert Path(f"/proc/{grandchild}").exists()
    owner.kill()
    owner.wait()
    while Path(f"/proc/{grandchild}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{grandchild}").exists()


def test_an_identity_is_of_one_process_and_not_of_its_number() -> None:
    own = Identity.own()
    assert own.here
    assert own.lives
    assert Identity.read(own._asdict()) == own
    assert not own._replace(started="another boot 1").lives
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert not own._replace(pid=child.pid).lives
