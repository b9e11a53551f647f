"""Six learners in six processes: when one is killed, the others go on, and nothing of what they do is half done."""

import io
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
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

from .conftest import environment, run, wait_until

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        not Path("/proc/self/environ").exists(), reason="finds processes by their environment, as Linux shows it"
    ),
]

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
    (path / "params.yaml").write_text(PARAMS)
    run("gossipgan prepare", path)
    run("gossipgan extractor", path)
    return path


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


def _kill(out: str, rank: int) -> None:
    (victim,) = [number for number, found in _of_run(out) if found == str(rank)]
    os.kill(victim, signal.SIGKILL)


def _losses(out: Path) -> list[dict[str, Any]]:
    return [entry for entry in read_journal(out / "journal.jsonl") if entry["event"] == "lost"]


@pytest.fixture(scope="module")
def survived(folder: Path) -> RunDirectory:
    """A run of six processes of which one was killed, and then, of the others, the one that kept the journal."""
    out = folder / "survived"
    process = subprocess.Popen(
        ["gossipgan", "train", "-e", "ring", "--processes", "6", "--out", "survived"],
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        wait_until(lambda: (out / "checkpoints/step-00000004").exists(), process, seconds=900)
        _kill("survived", 3)
        wait_until(lambda: _losses(out), process, seconds=900)
        _kill("survived", 0)
        printed, errors = process.communicate(timeout=900)
    finally:
        process.kill()  # and with it all that it keeps
        process.wait()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert not list(_of_run("survived"))
    assert "ring seed 1: lost process 3 with learner 3; 5 learners go on from step" in printed
    assert "ring seed 1: lost process 0 with learner 0; 4 learners go on from step" in printed
    return RunDirectory(out)


def test_survivors_go_on_and_the_run_says_who_was_lost(survived: RunDirectory) -> None:
    lost = _losses(survived.path)
    assert [(one["rank"], one["learners"]) for one in lost] == [(3, [3]), (0, [0])]
    assert 4 <= lost[0]["step"] <= lost[1]["step"] < 40
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

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(state, "prune_checkpoints", lambda folder, best: None)
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


def test_after_each_loss_the_run_is_one_from_the_survivors_state_to_the_last_bit(
    survived: RunDirectory, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    virtual = _Virtual(folder, monkeypatch)
    lost = survived.read_result()["lost"]
    whole = virtual.train(tmp_path / "whole")
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
        timeout=600,
        check=False,
    )
    assert done.returncode != 0
    assert "mixing.on_loss: rewire needs processes that gossipgan starts itself, with --processes" in done.stderr
    assert not (folder / "refused").exists()
