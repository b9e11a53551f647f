"""``gossipgan sweep confirm``: real runs on fresh seeds, gone on with after a kill, and had again by ``train``."""

import json
import shutil
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gossipgan.config import load_params
from gossipgan.data import Store
from gossipgan.sweeps import StudyStorage, default_url, load_sweep
from gossipgan.sweeps.study import choose_study, claim

from .conftest import environment, prepare_project, run
from .sweeping import gone

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes as Linux shows them"),
]

PARAMS = """
data: {limit: 400, held_out: 200}
extractor: {width: 4, features: 8, epochs: 1}
game: {width: 4, latent: 8, loss: hinge, discriminator_norm: none}
averaging: {ema_half_life: 5}
training:
  steps: 60
  batch: 8
  threads: 1
  device: cpu
  log_every: 4
  evaluate_every: 30
  sample_every: 60
  checkpoint_every: 4
  divergence_window: 20
evaluation: {samples: 100, kid_subset_size: 50, kid_subsets: 2, batch: 100}
tracking: {mlflow: false}
seeds: [1, 4]
experiments: {baseline: {}}
"""

#: Trials too short for a learning rate of 10 to be found out.
SWEEPS = {
    "short": """
        space:
          lookahead.kind: joint
          lookahead.k: {int: [2, 8]}
          training.steps: 8
        enqueue: [{lookahead.k: 3}, {lookahead.k: 5}]
        budget: {trials: 2}
        """,
    "wild": """
        space:
          optimizer.generator.lr: {choices: [10.0]}
          optimizer.discriminator.lr: {same_as: optimizer.generator.lr}
          training.steps: 4
        objective: {metric: is}
        pruner: none
        budget: {trials: 1}
        """,
}


def _tell(folder: Path, name: str, metric: str, digest: str) -> None:
    """A sweep as it stands when it has ended, without the time that its trials take: each is told a score."""
    path = folder / "sweeps" / f"{name}.yaml"
    path.write_text(SWEEPS[name])
    sweep = load_sweep(path, load_params(folder / "params.yaml"))
    trials = sweep.settings.budget.trials
    with closing(StudyStorage(default_url(folder), create=True)) as storage:
        choose_study(storage, sweep, digest, [metric], fork=False)
        while (taken := claim(storage, sweep, name, trials, digest)) is not None:
            taken.trial.set_user_attr("outcome", "ok")
            taken.study.tell(taken.trial, 1.0 + taken.number)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared project on which both sweeps have ended."""
    path = tmp_path_factory.mktemp("confirm") / "project"
    (path / "sweeps").mkdir(parents=True)
    prepare_project(path, PARAMS)
    digest = Store.open(path / "data" / "prepared").digest
    _tell(path, "short", "fid_digits_100_ema", digest)
    _tell(path, "wild", "is_digits_100_ema", digest)
    return path


@pytest.fixture
def folder(swept: Path, tmp_path: Path) -> Path:
    shutil.copytree(swept, tmp_path / "project")
    return tmp_path / "project"


def _results(folder: Path) -> dict[Path, int]:
    """When each run of a confirmation ended."""
    return {path: path.stat().st_mtime_ns for path in folder.glob("work/sweeps/short/confirm/*/*/result.json")}


def _begun(folder: Path, since: float) -> bool:
    """Whether a run has ended, and another has written a checkpoint since a moment."""
    checkpoints = folder.glob("work/sweeps/short/confirm/*/*/checkpoints/step-*")
    return bool(_results(folder)) and any(path.stat().st_mtime > since for path in checkpoints)


def _stop_midway(command: str, folder: Path, number: signal.Signals) -> int:
    since = time.time()
    process = subprocess.Popen(
        command.split(), cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 600
        while not _begun(folder, since):
            assert process.poll() is None, "ended too early"
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        return process.wait(timeout=120)
    finally:
        process.kill()


def test_a_killed_confirmation_is_gone_on_with_and_its_scores_are_those_of_train(folder: Path) -> None:
    command = "gossipgan sweep confirm short --top 2 --seeds 2 --workers 2"
    for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        assert _stop_midway(command, folder, number) == status
        assert gone(folder, 60)
        assert not list(folder.glob("**/confirmation.*"))
    before = _results(folder)
    assert 0 < len(before) < 6

    done = run(f"{command} --json", folder)
    assert done.stderr.startswith(f"{len(before)} of 6 runs had ended before\n")
    assert gone(folder, 60)
    after = _results(folder)
    assert len(after) == 6
    assert before.items() <= after.items()  # what had ended was not run again
    assert not list(folder.glob("work/sweeps/short/confirm/*/*/checkpoints"))

    content = json.loads(done.stdout)
    for place in ("reports", "work"):
        assert json.loads((folder / place / "sweeps/short/confirmation.json").read_text()) == content
    assert "The baseline was not tuned: 1 setting tried against 2." in content["conclusion"]
    assert content["seeds"] == [5, 6]  # the params file has 1 and 4
    assert {json.loads(path.read_text())["images"] for path in after} == {content["images"]} == {60 * 8}
    assert {one["name"] for one in content["candidates"]} == {"trial-0", "trial-1"}

    # The winner as an experiment, trained at one of the fresh seeds for as long, gives the same run.
    best = content["candidates"][0]
    run(f"gossipgan sweep export short --trial {best['name'].removeprefix('trial-')} --as winner", folder)
    run("gossipgan train -e winner -S training.steps=60 --seed 6 --out again", folder)
    (confirmed,) = folder.glob(f"work/sweeps/short/confirm/{best['name']}/seed-6-*/")
    for name in ("journal.jsonl", "weights/generator-ema.safetensors", "weights/discriminator.safetensors"):
        assert (folder / "again" / name).read_bytes() == (confirmed / name).read_bytes(), name
    entries = [json.loads(line) for line in (folder / "again/journal.jsonl").read_text().splitlines()]
    (score,) = [one[content["metric"]] for one in entries if one["event"] == "score" and one["step"] == 60]
    assert score == best["scores"]["6"]


def test_a_run_that_diverges_at_the_full_budget_is_shown_and_nothing_is_claimed(
    folder: Path, empty_store: Path
) -> None:
    refused = run("gossipgan sweep confirm wild --against short", folder, status=2).stderr
    assert "name a sweep over the same objective" in refused
    assert refused.count("\n") == 1
    (folder / "params.yaml").write_text(PARAMS.replace("tracking: {mlflow: false}\n", ""))
    shutil.copy(empty_store, folder / "mlflow.db")
    done = run("gossipgan sweep confirm wild --seeds 1", folder)
    content = json.loads((folder / "reports/sweeps/wild/confirmation.json").read_text())
    (candidate,) = content["candidates"]
    assert (candidate["scores"], candidate["difference"]) == ({"5": None}, None)
    assert candidate["sentence"] == "no claim can be made: 1 of 1 runs of trial-0 diverged"
    assert candidate["score_in_sweep"] == 1.0
    (scores,) = folder.glob("work/sweeps/wild/confirm/baseline-baseline/seed-5-*.scores.json")
    assert content["baseline"]["scores"] == {"5": json.loads(scores.read_text())["is_digits_100_ema"]}
    assert content["minimize"] is False
    assert "trial-0 seed 5: diverged - " in done.stdout
    assert content["conclusion"] in done.stdout
    # The command ends by showing it in MLflow.
    from mlflow import MlflowClient

    client: Any = MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db")
    shown = {
        one.info.run_name: one for one in client.search_runs([client.get_experiment_by_name("gossipgan").experiment_id])
    }
    arms = {name: one.data.metrics.get("score") for name, one in shown.items() if name.startswith("confirm-")}
    assert arms == {
        "confirm-trial-0-60-steps diverged": None,
        "confirm-baseline-baseline-60-steps": content["baseline"]["scores"]["5"],
    }
    artifacts = client.list_artifacts(shown["wild"].info.run_id, "report")
    assert {Path(one.path).name for one in artifacts} == {"confirmation.json", "confirmation.md"}
