"""One run over several processes: the same bytes wherever learners live, and nothing lost when one dies."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import load_file

from .conftest import environment, prepare_project, run, wait_until

pytestmark = pytest.mark.system

PARAMS = """
data: {limit: 400, held_out: 200}
extractor: {width: 4, features: 8, epochs: 1}
game: {width: 4, latent: 8}
averaging: {ema_half_life: 5}
training:
  {steps: 24, batch: 8, threads: 1, device: cpu, log_every: 4, evaluate_every: 12, sample_every: 12,
   checkpoint_every: 4}
evaluation: {samples: 100, kid_subset_size: 50, kid_subsets: 2, batch: 100}
seeds: [1]
experiments:
  ring: {mixing: {kind: gossip, learners: 8, rounds: 2}, lookahead: {kind: joint, k: 5}}
  allreduce: {mixing: {kind: allreduce, learners: 8}}
  int8: {mixing: {kind: gossip, learners: 8, wire: int8}}
  stale: {mixing: {kind: stale-gossip, learners: 8, topology: one-peer-exponential}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared project with small experiments of eight learners, each trained in one process."""
    path = tmp_path_factory.mktemp("processes")
    prepare_project(path, PARAMS)
    return path


@pytest.fixture(scope="module")
def virtual(folder: Path) -> Path:
    """The ring's run with eight virtual learners in one process."""
    run("gossipgan train -e ring --out virtual", folder)
    return folder / "virtual"


def _content(path: Path) -> dict[str, bytes]:
    files = [path / "journal.jsonl", path / "result.json", *path.rglob("weights/**/*.safetensors")]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


@pytest.mark.parametrize("processes", [2, 8])
def test_learners_end_with_the_same_bytes_wherever_they_live(folder: Path, virtual: Path, processes: int) -> None:
    run(f"gossipgan train -e ring --processes {processes} --out over-{processes}", folder)
    assert _content(folder / f"over-{processes}") == _content(virtual)


@pytest.mark.parametrize("experiment", ["int8", "stale"])
def test_every_exchange_in_fixed_order_is_bitwise_the_same(folder: Path, experiment: str) -> None:
    run(f"gossipgan train -e {experiment} --out {experiment}-1", folder)
    run(f"gossipgan train -e {experiment} --processes 3 --out {experiment}-3", folder)
    assert _content(folder / f"{experiment}-3") == _content(folder / f"{experiment}-1")


def test_all_reduce_is_the_same_to_rounding(folder: Path) -> None:
    for where, option in (("virtual", ""), ("processes", "--processes 4")):
        run(f"gossipgan train -e allreduce {option} -S training.steps=2 --out allreduce-{where}", folder)
    one, other = (
        load_file(folder / f"allreduce-{where}/weights/generator-fast.safetensors")
        for where in ("virtual", "processes")
    )
    for name, tensor in one.items():
        assert float((tensor - other[name]).abs().max()) <= 1e-6, name


def test_torchrun_starts_it_too(folder: Path, virtual: Path) -> None:
    run("torchrun --nproc-per-node 2 -m gossipgan train -e ring --out by-torchrun", folder)
    assert _content(folder / "by-torchrun") == _content(virtual)


def _start(command: str, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command.split(),
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _of_run(out: str) -> Iterator[tuple[int, str]]:
    """Process number and rank of every process of a run, by its ``--out``."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (path / "cmdline").read_bytes().split(b"\0")
            variables = dict(pair.partition(b"=")[::2] for pair in (path / "environ").read_bytes().split(b"\0"))
        except OSError:
            continue
        if b"train" in arguments and out.encode() in arguments and b"--processes" not in arguments:
            yield int(path.name), variables.get(b"RANK", b"").decode()


def test_a_checkpoint_of_four_processes_goes_on_in_two_and_then_in_one(folder: Path, virtual: Path) -> None:
    out = folder / "moving"
    for processes, step in ((4, "08"), (2, "16")):
        process = _start(f"gossipgan train -e ring --processes {processes} --out moving", folder)
        wait_until(lambda step=step: (out / f"checkpoints/step-000000{step}").exists(), process)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for number, _ in _of_run("moving"):
            os.kill(number, signal.SIGKILL)
        assert not (out / "result.json").exists()
    run("gossipgan train -e ring --out moving", folder)
    assert _content(out) == _content(virtual)


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="finds processes by their environment, as Linux shows it"
)
def test_a_process_that_dies_is_started_again_from_the_last_checkpoint(folder: Path, virtual: Path) -> None:
    process = _start("gossipgan train -e ring --processes 4 --restarts 1 --out restarted", folder)
    wait_until(lambda: (folder / "restarted/checkpoints/step-00000008").exists(), process)
    (victim,) = [number for number, rank in _of_run("restarted") if rank == "2"]
    os.kill(victim, signal.SIGKILL)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert _content(folder / "restarted") == _content(virtual)


def test_without_restarts_one_line_names_the_process_and_nobody_is_left(folder: Path) -> None:
    process = _start("gossipgan train -e ring --processes 4 --restarts 0 --out ended", folder)
    wait_until(lambda: (folder / "ended/checkpoints/step-00000004").exists(), process)
    (victim,) = [number for number, rank in _of_run("ended") if rank == "1"]
    os.kill(victim, signal.SIGKILL)
    began = time.monotonic()
    _, errors = process.communicate(timeout=240)
    assert time.monotonic() - began < 60
    assert process.returncode == 2
    assert "process 1 of 4 was ended by SIGKILL" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    assert not list(_of_run("ended"))


def test_more_processes_than_learners_are_refused(folder: Path) -> None:
    done = run("gossipgan train -e ring --processes 9", folder, status=2)
    assert done.stderr == (
        "gossipgan: error: --processes 9: 8 learners cannot fill them; use at most 8, or more mixing.learners\n"
    )


def test_processes_with_other_settings_are_refused(folder: Path) -> None:
    shutil.rmtree(folder / "disagree", ignore_errors=True)
    script = folder / "disagree.sh"
    script.write_text("exec gossipgan train -e ring --out disagree -S training.steps=$((20 + RANK))\n")
    done = subprocess.run(
        ["torchrun", "--nproc-per-node", "2", "--no-python", "sh", str(script)],
        cwd=folder,
        env=environment(),
        text=True,
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert done.returncode != 0
    assert "process 1 runs other settings, data or code than process 0" in done.stderr
    assert not (folder / "disagree").exists()
