"""Six learners in six processes, of which one is killed: the run stops and starts again, or the others go on without.

Either way nothing of what they do is half done.
"""

import io
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from gossipgan.config import Settings, load_params
from gossipgan.data import Store
from gossipgan.evaluation import Ruler, evaluate_run
from gossipgan.runs import Project, RunDirectory, read_journal
from gossipgan.training import resumable, state, train
from gossipgan.training.checkpoint import latest_checkpoint

from .conftest import environment, prepare_project, run, wait_until

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        not Path("/proc/self/environ").exists(), reason="finds processes by their environment, as Linux shows it"
    ),
]

#: Seconds to wait for what is to take a few, on a machine that may have much else to do.
PATIENCE = 600.0

PARAMS = """
data: {limit: 400, held_out: 200}
extractor: {width: 4, features: 8, epochs: 1}
game: {width: 4, latent: 8}
averaging: {ema_half_life: 5}
training:
  {steps: 40, batch: 8, threads: 1, device: cpu, log_every: 4, evaluate_every: 1000, sample_every: 1000,
   checkpoint_every: 4}
evaluation: {samples: 100, kid_subset_size: 50, kid_subsets: 2, batch: 100, metrics: [fid], iterates: [fast, ema]}
seeds: [1]
experiments:
  ring: {mixing: {kind: gossip, learners: 6, on_loss: rewire}, lookahead: {kind: joint, k: 5}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared project with a ring of six learners."""
    path = tmp_path_factory.mktemp("rewire")
    prepare_project(path, PARAMS)
    return path


def _of_run(out: Path) -> Iterator[tuple[int, str]]:
    """Process number and rank of every process of a run, by its ``--out``."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (path / "cmdline").read_bytes().split(b"\0")
            variables = dict(pair.partition(b"=")[::2] for pair in (path / "environ").read_bytes().split(b"\0"))
        except OSError:
            continue
        if b"train" in arguments and str(out).encode() in arguments and b"--processes" not in arguments:
            yield int(path.name), variables.get(b"RANK", b"").decode()


@contextmanager
def _in_six_processes(out: Path, *options: str) -> Iterator[tuple["subprocess.Popen[str]", dict[str, int]]]:
    """The ring in training, in a run directory, past its first checkpoint; and its processes' numbers by rank."""
    process = subprocess.Popen(
        ["gossipgan", "train", "-e", "ring", "--processes", "6", "--out", str(out), *options],
        cwd=out.parent,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        wait_until(out.exists, process, seconds=PATIENCE)  # all are there by then
        numbers = {rank: number for number, rank in _of_run(out)}
        wait_until((out / "checkpoints/step-00000004").exists, process, seconds=PATIENCE)
        yield process, numbers
    finally:
        process.kill()
        process.wait()
        for number, _ in _of_run(out):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def _last_step(run: RunDirectory) -> int:
    """The step of the last checkpoint; 0 without one."""
    path = latest_checkpoint(run.checkpoints)
    return 0 if path is None else int(path.name.removeprefix("step-"))


def _losses(out: Path) -> list[dict[str, Any]]:
    return [entry for entry in read_journal(out / "journal.jsonl") if entry["event"] == "lost"]


@pytest.fixture(scope="module")
def survived(folder: Path) -> RunDirectory:
    """A run of six processes of which one was killed, and then, of the others, the one that kept the journal."""
    out = folder / "survived"
    with _in_six_processes(out) as (process, numbers):
        os.kill(numbers["3"], signal.SIGKILL)
        wait_until(lambda: _losses(out), process, seconds=PATIENCE)
        (first,) = _losses(out)
        wait_until(lambda: _last_step(RunDirectory(out)) >= first["step"] + 8, process, seconds=PATIENCE)
        os.kill(numbers["0"], signal.SIGKILL)
        printed, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        assert not list(_of_run(out))
    assert "Traceback" not in errors
    assert "ring seed 1: lost process 3 with learner 3; 5 learners go on from step" in printed
    assert "ring seed 1: lost process 0 with learner 0; 4 learners go on from step" in printed
    return RunDirectory(out)


def test_survivors_go_on_and_the_run_says_who_was_lost(survived: RunDirectory) -> None:
    lost = _losses(survived.path)
    assert [(one["rank"], one["learners"]) for one in lost] == [(3, [3]), (0, [0])]
    assert 4 <= lost[0]["step"] < lost[1]["step"] < 40
    result = survived.read_result()
    assert (result["outcome"], result["steps"]) == ("ok", 40)
    assert result["lost"] == [{key: one[key] for key in ("learners", "rank", "step")} for one in lost]
    assert sorted(path.name for path in survived.weights.glob("learner-*")) == [
        f"learner-{number:04d}" for number in (1, 2, 4, 5)
    ]
    last = survived.checkpoints / "step-00000040"
    assert sorted(path.name for path in last.glob("learner-*")) == [
        f"learner-{number:04d}.safetensors" for number in (1, 2, 4, 5)
    ]
    # 8 pictures an iteration of each learner that is there.
    first, second = (one["step"] for one in lost)
    assert result["images"] == 8 * (6 * first + 5 * (second - first) + 4 * (40 - second))
    mixing = [entry for entry in read_journal(survived.journal) if entry["event"] == "mixing"]
    assert [entry["step"] for entry in mixing] == list(range(4, 44, 4))  # nothing twice, nothing left out
    # 1, 2, 4 and 5 of a ring of six are two pairs: joined where 3 and 0 were, they are a ring of four, whose
    # eigenvalues beside 1 are +-1/3.
    assert mixing[-1]["contraction_generator"] == pytest.approx(1 / 3, rel=1e-4)


class _Virtual:
    """The same experiment in one process, which keeps every checkpoint."""

    def __init__(self, folder: Path) -> None:
        self._project = Project(folder)
        self._settings: Settings = load_params(folder / "params.yaml").settings("ring")
        self._store = Store.open(self._project.prepared)
        self._ruler = Ruler.open(
            self._settings, self._store, self._project.extractor, self._project.cache, torch.device("cpu")
        )

    def train(self, out: Path) -> RunDirectory:
        one = RunDirectory(out)
        train(one, self._settings, 1, self._store, self._ruler, experiment="ring", console=Console(file=io.StringIO()))
        return one

    def scores(self, one: RunDirectory) -> dict[str, float | str]:
        return evaluate_run(one, self._ruler, self._settings)

    def without(self, source: RunDirectory, out: Path, lost: list[dict[str, Any]]) -> RunDirectory:
        """Begin anew from the survivors' state: from a checkpoint of the step at which somebody was lost last."""
        step = lost[-1]["step"]
        shutil.copytree(source.path, out)
        copy = RunDirectory(out)
        copy.result.unlink()
        shutil.rmtree(copy.weights)
        for checkpoint in copy.checkpoints.iterdir():
            if int(checkpoint.name.removeprefix("step-")) > step:
                shutil.rmtree(checkpoint)
        numbers = copy.checkpoints / f"step-{step:08d}" / "run.json"
        numbers.write_text(json.dumps({**json.loads(numbers.read_text()), "lost": lost}))
        assert not resumable(copy)  # not as the run that it was begun as
        return self.train(out)


@pytest.fixture(scope="module")
def virtual(folder: Path) -> Iterator[_Virtual]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "prune_checkpoints", lambda folder, best: None)
        yield _Virtual(folder)


@pytest.fixture(scope="module")
def whole(virtual: _Virtual, folder: Path) -> RunDirectory:
    """The run that nobody disturbed."""
    return virtual.train(folder / "whole")


def test_with_stop_it_ends_in_a_line_and_starts_again_from_its_last_checkpoint(
    whole: RunDirectory, folder: Path
) -> None:
    stop = ("-S", "mixing.on_loss=stop")
    stopped = RunDirectory(folder / "stopped")
    with _in_six_processes(stopped.path, *stop, "--restarts", "0") as (process, numbers):
        os.kill(numbers["3"], signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE)
        assert not list(_of_run(stopped.path))
    assert process.returncode == 2
    assert errors.splitlines()[-1] == (
        "gossipgan: error: process 3 of 6 was ended by SIGKILL, and the run was stopped; the same command goes on from "
        "the last checkpoint"
    )
    assert "Traceback" not in errors
    assert not stopped.result.exists()
    last = _last_step(stopped)
    before = [entry for entry in read_journal(stopped.clock) if entry["step"] <= last]
    assert 4 <= last < 40
    assert before

    run(f"gossipgan train -e ring {' '.join(stop)} --out stopped", folder)
    assert [*read_journal(stopped.clock)][: len(before)] == before  # it did not start over
    assert stopped.journal.read_bytes() == whole.journal.read_bytes()
    assert stopped.read_result() == whole.read_result()  # with the hash of every weights file


def test_after_each_loss_the_run_is_one_from_the_survivors_state_to_the_last_bit(
    survived: RunDirectory, whole: RunDirectory, virtual: _Virtual, tmp_path: Path
) -> None:
    lost = survived.read_result()["lost"]
    once = virtual.without(whole, tmp_path / "once", lost[:1])
    twice = virtual.without(once, tmp_path / "twice", lost)

    def journal(one: RunDirectory) -> list[dict[str, Any]]:
        return [entry for entry in read_journal(one.journal) if entry["event"] != "lost"]

    assert journal(twice) == journal(survived)
    assert twice.read_result() == survived.read_result()  # with the hash of every weights file
    assert journal(whole) != journal(survived)
    # What is scored is the survivors, and the record says so.
    scores = virtual.scores(survived)
    assert scores["lost_learners"] == "3, 0"
    assert {key for key in scores if "-learner-" in key} == {
        f"fid_digits_100_ema-learner-{number:04d}" for number in (1, 2, 4, 5)
    }


def test_it_goes_on_from_a_checkpoint_of_survivors_in_fewer_processes(
    survived: RunDirectory, folder: Path, tmp_path: Path
) -> None:
    out = folder / "later"
    shutil.copytree(survived.path, out)
    later = RunDirectory(out)
    later.result.unlink()
    shutil.rmtree(later.weights)
    shutil.rmtree(later.checkpoints / "step-00000040")
    assert [path.name for path in later.checkpoints.iterdir()] == ["step-00000036"]
    printed = run("gossipgan train -e ring --out later", folder).stdout
    assert "without learner 0 of process 0 from step" in printed
    assert later.read_result() == survived.read_result()
    assert later.journal.read_bytes() == survived.journal.read_bytes()


def test_torchrun_is_refused_in_a_line(folder: Path) -> None:
    done = subprocess.run(
        ["torchrun", "--nproc-per-node", "2", "-m", "gossipgan", "train", "-e", "ring", "--out", "refused"],
        cwd=folder,
        env=environment(),
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode != 0
    assert "mixing.on_loss: rewire needs processes that gossipgan starts itself, with --processes" in done.stderr
    assert not (folder / "refused").exists()
