"""A sweep's study and runs as MLflow is to show them, and the process that shows them while it runs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pytest

from gossipgan.config import TrackingSettings
from gossipgan.runs import Journal, RunDirectory
from gossipgan.sweeps import StudyStorage, Sweep, default_url, sync_sweep
from gossipgan.sweeps.mirror import Recorder
from gossipgan.sweeps.study import Claim, choose_study, claim
from gossipgan.tracking import resolve_uri

from ..conftest import MakeSweep

optuna.logging.set_verbosity(optuna.logging.WARNING)

TEXT = """
space: {lookahead.kind: joint, lookahead.k: {int: [2, 90]}, optimizer.generator.lr: {float: [0.001, 0.1]}}
sampler: random
pruner: none
seeds: [4, 3]
enqueue: [{lookahead.k: 5, optimizer.generator.lr: 0.01}]
budget: {trials: 9}
"""
METRIC = "fid_digits_2000_ema"
TRACKING = TrackingSettings()


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No store of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")


@pytest.fixture
def swept(make_sweep: MakeSweep, empty_store: Path) -> Sweep:
    """A sweep that has begun: nothing of it has run yet."""
    sweep = make_sweep(TEXT)
    shutil.copy(empty_store, _root(sweep) / "mlflow.db")
    with closing(StudyStorage(default_url(_root(sweep)), create=True)) as storage:
        choose_study(storage, sweep, "digest", [METRIC], fork=False)
    return sweep


def _root(sweep: Sweep) -> Path:
    return sweep.params.path.parent


def _take(storage: StudyStorage, sweep: Sweep) -> Claim:
    taken = claim(storage, sweep, "some", 9, "digest")
    assert taken is not None
    return taken


def _begin(taken: Claim, sweep: Sweep, seed: int) -> RunDirectory:
    run = RunDirectory(_root(sweep) / "work" / "sweeps" / "some" / taken.folder / f"seed-{seed}")
    run.write_settings(taken.settings, seed, "ab" * 32, f"some {taken.folder}")
    journal = Journal(run.journal)
    journal.append("score", 50, images=50 * 64, **{METRIC: 30.0 + seed})
    journal.close()
    return run


def _end(taken: Claim, run: RunDirectory, score: float) -> None:
    fingerprint = run.read_settings()[1]["fingerprint"]
    run.write_result(outcome="ok", steps=50, images=3200, fingerprint=fingerprint, seed=3, data="", parameters={})
    taken.trial.set_user_attr("outcome", "ok")
    taken.trial.set_user_attr("scores", {"4": score})
    taken.trial.set_user_attr("seconds", 7.5)
    taken.study.tell(taken.trial, score)


def _shown(root: Path) -> dict[str, Any]:
    """What MLflow shows of trials and of the sweep, by name; no name twice."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=resolve_uri(TRACKING, root))
    experiment = client.get_experiment_by_name(TRACKING.experiment)
    if experiment is None:
        return {}
    runs = [run for run in client.search_runs([experiment.experiment_id]) if run.data.tags["gossipgan.role"] != "run"]
    named = {run.data.tags.get("gossipgan.trial", "sweep"): run for run in runs}
    assert len(named) == len(runs)
    return named


def test_a_record_says_what_was_searched_and_what_each_trial_came_to(swept: Sweep) -> None:
    root = _root(swept)
    with closing(StudyStorage(default_url(root), create=False)) as storage:
        baseline = _take(storage, swept)
        _end(baseline, _begin(baseline, swept, 4), 12.0)
        first = _take(storage, swept)
        _begin(first, swept, 4)
        _end(first, _begin(first, swept, 3), 9.0)
        crashed = _take(storage, swept)
        crashed.trial.set_user_attr("outcome", "crashed")
        crashed.trial.set_user_attr("reason", "no room")
        crashed.study.tell(crashed.trial, state=optuna.trial.TrialState.FAIL)
        _take(storage, swept)
        optuna.load_study(study_name="some", storage=storage.optuna).enqueue_trial({"lookahead.k": 8})
        record = Recorder(storage, "some", root).read()
    assert record.searched == ("lookahead.k", "optimizer.generator.lr")
    assert (record.metric, record.minimize, record.file) == (METRIC, True, root / "sweeps" / "some.yaml")
    assert [(one.name, one.role, one.state) for one in record.trials] == [
        ("baseline-baseline", "baseline", "ok"),
        ("trial-0", "trial", "ok"),
        ("trial-1", "trial", "crashed"),
        ("trial-2", "trial", "running"),
    ]
    ok = record.trials[1]
    assert ok.metrics == {"seconds": 7.5, "score": 9.0, METRIC: 9.0, "score/seed-4": 9.0, "bytes": 0.0}
    assert list(ok.runs) == [4, 3]  # as they were begun
    settings = swept.trial_settings({"lookahead.kind": "joint", "lookahead.k": 5, "optimizer.generator.lr": 0.01})
    assert ok.settings["lookahead.k"] == 5
    assert ok.settings["training.steps"] == settings.training.steps == 100
    assert record.trials[2].reason == "no room"
    assert "score" not in record.trials[2].metrics
    assert ok.started is not None
    assert ok.ended is not None
    assert 0 <= time.time() - ok.started < 3600
    assert ok.started <= ok.ended


def test_what_has_ended_is_read_once_and_what_runs_again_and_again(swept: Sweep) -> None:
    root = _root(swept)
    with closing(StudyStorage(default_url(root), create=False)) as storage:
        baseline = _take(storage, swept)
        _end(baseline, _begin(baseline, swept, 4), 12.0)
        first = _take(storage, swept)
        run = _begin(first, swept, 4)
        recorder = Recorder(storage, "some", root)
        ended, running = recorder.read().trials
        assert (ended.state, running.state, list(running.runs)) == ("ok", "running", [4])
        shutil.rmtree(root / "work" / "sweeps" / "some" / baseline.folder)
        _begin(first, swept, 3)
        again, going_on = recorder.read().trials
        assert again == ended
        assert list(going_on.runs) == [4, 3]
        _end(first, run, 9.0)
        _take(storage, swept)
        assert [(one.name, one.state) for one in recorder.read().trials] == [
            ("baseline-baseline", "ok"),
            ("trial-0", "ok"),
            ("trial-1", "running"),
        ]
        assert recorder.read().trials[1].metrics["score"] == 9.0


def _confirm(sweep: Sweep, arm: str, seed: int, scores: dict[str, float | str], outcome: str = "ok") -> None:
    """A run of ``sweep confirm``, as it leaves it."""
    settings = sweep.trial_settings({"lookahead.kind": "joint", "lookahead.k": 5, "optimizer.generator.lr": 0.01})
    run = RunDirectory(_root(sweep) / "work" / "sweeps" / "some" / "confirm" / arm / f"seed-{seed}-0123456789ab")
    run.write_settings(settings, seed, "ab" * 32, arm)
    journal = Journal(run.journal)
    journal.append("score", 100, images=6400, **{METRIC: 20.0 + seed})
    journal.close()
    if scores:
        run.path.with_name(f"{run.path.name}.scores.json").write_text(json.dumps(scores))
    fingerprint = run.read_settings()[1]["fingerprint"]
    reason = None if outcome == "ok" else "the losses are inf"
    run.write_result(
        outcome=outcome, steps=100, images=6400, fingerprint=fingerprint, seed=seed, data="", reason=reason
    )


def test_what_was_confirmed_stands_under_the_sweep_beside_the_trials(swept: Sweep) -> None:
    root = _root(swept)
    _confirm(swept, "trial-0", 5, {METRIC: 11.0})
    _confirm(swept, "trial-0", 6, {METRIC: 14.0})
    _confirm(swept, "baseline-baseline", 5, {})  # its journal is all there is
    _confirm(swept, "baseline-baseline", 6, {}, outcome="diverged")
    first = sync_sweep("some", default_url(root), tracking=TRACKING, root=root)
    assert first.written == ("confirm-baseline-baseline-100-steps", "confirm-trial-0-100-steps")
    shown = _shown(root)
    sweep, trial, baseline = (shown[name] for name in ("sweep", *reversed(first.written)))
    for arm in (trial, baseline):
        assert arm.data.tags["mlflow.parentRunId"] == sweep.info.run_id
        assert arm.data.tags["gossipgan.role"] == "confirm"
    scores = {name: value for name, value in trial.data.metrics.items() if name.startswith("score")}
    assert scores == {"score": 12.5, "score/seed-5": 11.0, "score/seed-6": 14.0}
    assert (trial.info.status, trial.data.params["lookahead.k"]) == ("FINISHED", "5")
    # No mean is shown of an arm that did not do well on every seed.
    scores = {name: value for name, value in baseline.data.metrics.items() if name.startswith("score")}
    assert (baseline.info.status, scores) == ("FAILED", {"score/seed-5": 25.0})
    assert baseline.data.tags["mlflow.note.content"] == "diverged: seed 6: the losses are inf"
    assert sum(value for name, value in sweep.data.metrics.items() if name.startswith("trials/")) == 0
    assert sorted(_seeds(root)) == sorted((arm.info.run_id, seed) for arm in (trial, baseline) for seed in ("5", "6"))

    assert sync_sweep("some", default_url(root), tracking=TRACKING, root=root).written == ()
    _confirm(swept, "trial-0", 7, {METRIC: 17.0})
    more = sync_sweep("some", default_url(root), tracking=TRACKING, root=root)
    assert (more.written, more.unchanged) == (("confirm-trial-0-100-steps",), first.written[:1])
    (arm,) = (run for name, run in _shown(root).items() if name == more.written[0])
    assert arm.data.metrics["score"] == 14.0
    assert sorted(seed for parent, seed in _seeds(root) if parent == arm.info.run_id) == ["5", "6", "7"]
    assert len(_seeds(root)) == 5


def _seeds(root: Path) -> list[tuple[str, str]]:
    """The runs of single seeds in MLflow: what each stands under, and its seed."""
    from mlflow import MlflowClient

    client: Any = MlflowClient(tracking_uri=resolve_uri(TRACKING, root))
    runs = client.search_runs([client.get_experiment_by_name(TRACKING.experiment).experiment_id])
    tags = [run.data.tags for run in runs if run.data.tags["gossipgan.role"] == "run"]
    return [(one["mlflow.parentRunId"], one["gossipgan.seed"]) for one in tags]


def test_a_sweep_is_known_by_more_than_its_name(swept: Sweep) -> None:
    root = _root(swept)
    ids = []
    for url in (default_url(root), default_url(root), f"sqlite:///{root}/other.db"):
        with closing(StudyStorage(url, create=True)) as storage:
            choose_study(storage, swept, "digest", [METRIC], fork=False)
            ids.append(Recorder(storage, "some", root).read().id)
    assert ids[0] == ids[1] != ids[2]


def _wait(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, "ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.2)


#: A sweep's process, as far as MLflow sees it: it looks at the sweep once, and ends when it is told to.
_HOST = """
import sys
from pathlib import Path
from gossipgan.config import TrackingSettings
from gossipgan.sweeps import follow_sweep
root, uri = Path(sys.argv[1]), sys.argv[2] or None
class Sweep: name = "some"
with follow_sweep(root=root, url=f"sqlite:///{root}/sweeps.db", tracking=TrackingSettings(uri=uri), warn=print) as show:
    show(Sweep)
    show(Sweep)
    print("looked", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def host(swept: Sweep) -> "Iterator[Callable[[str], subprocess.Popen[str]]]":
    """Starts such a process; it is ended with the test."""
    begun: list[subprocess.Popen[str]] = []

    def start(uri: str = "") -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", _HOST, str(_root(swept)), uri]
        begun.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert begun[-1].stdout is not None
        assert begun[-1].stdout.readline() == "looked\n"
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.wait()


def test_trials_are_shown_while_the_sweep_runs_and_a_killed_one_is_closed(
    swept: Sweep, host: "Callable[[], subprocess.Popen[str]]"
) -> None:
    root = _root(swept)
    with closing(StudyStorage(default_url(root), create=False)) as storage:
        baseline = _take(storage, swept)
        run = _begin(baseline, swept, 4)
        process = host()
        _wait(lambda: {"sweep", "baseline-baseline"} <= _shown(root).keys(), process)
        running = _shown(root)
        assert (running["sweep"].info.status, running["baseline-baseline"].info.status) == ("RUNNING", "RUNNING")
        _end(baseline, run, 12.0)
        taken = _take(storage, swept)
        _begin(taken, swept, 4)
        _wait(
            lambda: "trial-0" in _shown(root) and _shown(root)["baseline-baseline"].info.status == "FINISHED", process
        )
        process.send_signal(signal.SIGKILL)
        process.wait()
        storage.set_waiting("some", taken.number)  # as whoever finds its worker dead does
    assert _shown(root)["trial-0"].info.status == "RUNNING"
    closed = sync_sweep("some", default_url(root), tracking=TRACKING, root=root)
    assert closed.closed == ("trial-0", "some")
    ids = {name: run.info.run_id for name, run in _shown(root).items()}
    assert {name: run.info.status for name, run in _shown(root).items()} == {
        "sweep": "KILLED",
        "baseline-baseline": "FINISHED",
        "trial-0": "KILLED",
    }
    again = sync_sweep("some", default_url(root), tracking=TRACKING, root=root)
    assert (again.written, again.closed) == ((), ())
    assert {name: run.info.run_id for name, run in _shown(root).items()} == ids


def test_the_end_of_a_sweep_is_shown_before_it_is_over(
    swept: Sweep, host: "Callable[[], subprocess.Popen[str]]"
) -> None:
    root = _root(swept)
    process = host()
    with closing(StudyStorage(default_url(root), create=False)) as storage:
        baseline = _take(storage, swept)
        _end(baseline, _begin(baseline, swept, 4), 12.0)
    assert process.communicate("\n", timeout=300)[0] == ""
    assert process.returncode == 0
    shown = _shown(root)
    assert {name: run.info.status for name, run in shown.items()} == {
        "sweep": "FINISHED",
        "baseline-baseline": "FINISHED",
    }
    assert shown["sweep"].data.metrics["baseline-baseline/score"] == 12.0


def test_a_server_that_is_away_costs_a_line_at_the_end(host: "Callable[[str], subprocess.Popen[str]]") -> None:
    process = host("http://127.0.0.1:9")
    said, _ = process.communicate("\n", timeout=300)
    assert process.returncode == 0
    assert said.count("\n") == 1
    assert said.startswith("MLflow at http://127.0.0.1:9: not written:")
    assert said.endswith("gossipgan sweep sync some fills it again\n")
