"""A sweep in MLflow: what stands where, what counts as a success, and that it can be shown again and again."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gossipgan.config import Settings, TrackingSettings
from gossipgan.runs import Journal, RunDirectory, read_journal, write_atomic
from gossipgan.tracking import SeedRun, SweepMirror, SweepRecord, SweepTrial, resolve_uri

Build = Callable[..., Path]
METRIC = "fid_digits_2000_ema"
START = 1_700_000_000.0
TRACKING = TrackingSettings()


def _run(
    folder: Path, seed: int, k: int, steps: int = 1000, outcome: str | None = "ok", score: float = 10.0
) -> SeedRun:
    """A run that began, and ended if ``outcome`` says how."""
    run = RunDirectory(folder / f"seed-{seed}")
    settings = {"lookahead": {"kind": "joint", "k": k}, "mixing": {"kind": "allreduce", "learners": 2}}
    run.write_settings(Settings.model_validate(settings), seed, "ab" * 32, f"small {folder.name}")
    journal = Journal(run.journal)
    _train(journal, run, range(100, steps + 1, 100), score)
    if outcome is not None:
        journal.append("end", steps, images=steps * 64, outcome=outcome, reason=None)
        fingerprint = run.read_settings()[1]["fingerprint"]
        run.write_result(
            outcome=outcome, steps=steps, images=0, fingerprint=fingerprint, seed=seed, data="", reason=None
        )
    journal.close()
    return SeedRun(run, {})


def _train(journal: Journal, run: RunDirectory, steps: range, score: float = 10.0) -> None:
    clock = run.clock.read_text() if run.clock.exists() else ""
    for step in steps:
        journal.append("losses", step, images=step * 64, loss_d=1.0 / step, loss_g=0.1)
        if step % 200 == 0:
            journal.append("score", step, images=step * 64, **{METRIC: score + 1000 / step})
        clock += json.dumps({"step": step, "seconds": step / 10, "time": START + step}) + "\n"
    write_atomic(run.clock, clock)


def _trial(number: int, state: str = "ok", score: float | None = None, **given: Any) -> SweepTrial:
    metrics = {"seconds": 20.0 + number, **given.pop("metrics", {})}
    if score is not None:
        metrics |= {"score": score, METRIC: score}
    values: dict[str, Any] = {
        "name": f"trial-{number}",
        "role": "trial",
        "settings": {"lookahead.k": number + 2},
        "runs": {},
        "reason": None,
        "copy_of": None,
        "started": START,
        "ended": None if state in ("running", "stopped", "interrupted") else START + 1000,
    }
    return SweepTrial(number=number, state=state, metrics=metrics, **{**values, **given})


def _sweep(root: Path, trials: list[SweepTrial], sweep_id: str = "a1") -> SweepRecord:
    return SweepRecord(
        id=sweep_id,
        name="small",
        file=root / "sweeps" / "small.yaml",
        report=root / "reports" / "sweeps" / "small",
        metric=METRIC,
        minimize=True,
        searched=("lookahead.k",),
        seconds=60.0,
        trials=tuple(trials),
    )


def _mixed(root: Path) -> SweepRecord:
    """One of each: two seeds where all went well."""
    work = root / "work" / "sweeps" / "small"
    ok = {seed: _run(work / "trial-0", seed, 2, score=8.0 + seed) for seed in (1, 2)}
    base = {1: _run(work / "baseline-plain", 1, 5, score=12.0)}
    return _sweep(
        root,
        [
            _trial(0, score=13.0, name="baseline-plain", role="baseline", settings={}, runs=base),
            _trial(0, score=10.5, runs=ok, metrics={"score/seed-1": 10.0, "score/seed-2": 11.0, "bytes": 4096.0}),
            _trial(1, "pruned", runs={1: _run(work / "trial-1", 1, 3, 400, None)}),
            _trial(2, "diverged", runs={1: _run(work / "trial-2", 1, 4, 600, "diverged")}, reason="the losses are inf"),
            _trial(3, score=10.5, copy_of="trial-0"),
            _trial(4, "crashed", reason="No such file: 'labels'"),
            _trial(5, "timed-out", runs={1: _run(work / "trial-5", 1, 7, 200, None)}),
        ],
    )


def _client(root: Path) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=resolve_uri(TRACKING, root))


def _shown(root: Path) -> list[Any]:
    client = _client(root)
    return list(client.search_runs([client.get_experiment_by_name(TRACKING.experiment).experiment_id]))


def _named(root: Path) -> dict[str, Any]:
    """All but the seeds, by name; no name twice."""
    runs = [run for run in _shown(root) if run.data.tags["gossipgan.role"] != "run"]
    named = {run.data.tags.get("gossipgan.trial", "sweep"): run for run in runs}
    assert len(named) == len(runs)
    return named


def _show(root: Path, sweep: SweepRecord, **how: bool) -> Any:
    shown = SweepMirror(TRACKING, root).show(sweep, **how)
    assert shown.warning is None
    return shown


def _small(root: Path) -> SweepRecord:
    """A trial with a seed, and one that was pruned."""
    work = root / "work" / "sweeps" / "small"
    runs = {1: _run(work / "trial-0", 1, 2)}
    pruned = {1: _run(work / "trial-1", 1, 3, 400, None)}
    return _sweep(root, [_trial(0, score=10.0, runs=runs), _trial(1, "pruned", runs=pruned)])


@pytest.fixture
def root(build: Build) -> Path:
    return build(experiments=())


class Mixed(NamedTuple):
    """A sweep of many outcomes that has been shown. Tests must not change it."""

    root: Path
    sweep: SweepRecord


@pytest.fixture(scope="module")
def mixed(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    root = tmp_path_factory.mktemp("mixed")
    shutil.copy(empty_store, root / "mlflow.db")
    sweep = _mixed(root)
    before = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("MLFLOW_")}
    _show(root, sweep)
    os.environ.update(before)
    return Mixed(root, sweep)


def test_trials_and_baselines_stand_under_the_sweep_and_seeds_under_those(mixed: Mixed) -> None:
    root, _ = mixed
    named = _named(root)
    parent = named.pop("sweep")
    assert parent.info.run_name == "small"
    assert all(run.data.tags["mlflow.parentRunId"] == parent.info.run_id for run in named.values())
    seeds = [run for run in _shown(root) if run.data.tags["gossipgan.role"] == "run"]
    under = {run.info.run_id: name for name, run in named.items()}
    assert sorted((under[run.data.tags["mlflow.parentRunId"]], run.data.tags["gossipgan.seed"]) for run in seeds) == [
        ("baseline-plain", "1"),
        ("trial-0", "1"),
        ("trial-0", "2"),
        ("trial-2", "1"),
    ]


def test_only_what_is_ok_has_finished_and_has_a_score(mixed: Mixed) -> None:
    named = _named(mixed.root)
    parent = named.pop("sweep")
    assert {name: run.info.status for name, run in named.items()} == {
        "baseline-plain": "FINISHED",
        "trial-0": "FINISHED",
        "trial-1": "KILLED",
        "trial-2": "FAILED",
        "trial-3": "FINISHED",
        "trial-4": "FAILED",
        "trial-5": "KILLED",
    }
    scores = {name: run.data.metrics["score"] for name, run in named.items() if "score" in run.data.metrics}
    assert scores == {"baseline-plain": 13.0, "trial-0": 10.5, "trial-3": 10.5}
    assert named["trial-2"].data.tags["gossipgan.outcome"] == "diverged"
    assert named["trial-2"].info.run_name == "trial-2 diverged"
    assert named["trial-2"].data.tags["mlflow.note.content"] == "diverged: the losses are inf"
    assert named["trial-3"].data.tags["gossipgan.copy_of"] == "trial-0"
    counted = {name: value for name, value in parent.data.metrics.items() if value and name.startswith("trials/")}
    assert counted == {
        "trials/ok": 2,
        "trials/pruned": 1,
        "trials/diverged": 1,
        "trials/crashed": 1,
        "trials/timed-out": 1,
    }
    assert parent.info.status == "FINISHED"


def test_settings_and_scores_of_trials_and_baseline_have_the_same_names(mixed: Mixed) -> None:
    root, sweep = mixed
    named = _named(root)
    trial, baseline = named["trial-0"], named["baseline-plain"]
    settings, _ = sweep.trials[1].runs[1].directory.read_settings()
    assert trial.data.params.keys() == baseline.data.params.keys()
    assert (trial.data.params["lookahead.k"], baseline.data.params["lookahead.k"]) == ("2", "5")
    assert trial.data.params["training.steps"] == str(settings.training.steps)
    assert {"score", METRIC, "seconds"} <= trial.data.metrics.keys() & baseline.data.metrics.keys()
    assert (trial.data.metrics["bytes"], trial.data.metrics["score/seed-2"]) == (4096.0, 11.0)
    assert named["trial-4"].data.params == {"lookahead.k": "6"}
    assert named["sweep"].data.tags["gossipgan.searched"] == "lookahead.k"


def test_a_curve_is_the_mean_of_the_seeds_journals(mixed: Mixed) -> None:
    root, sweep = mixed
    journals = [
        {entry["step"]: entry[METRIC] for entry in read_journal(run.directory.journal) if entry["event"] == "score"}
        for run in sweep.trials[1].runs.values()
    ]
    points = _client(root).get_metric_history(_named(root)["trial-0"].info.run_id, METRIC)
    assert {point.step: point.value for point in points} == {
        step: pytest.approx((journals[0][step] + journals[1][step]) / 2) for step in (200, 400, 600, 800, 1000)
    }
    assert all(point.timestamp == (START + point.step) * 1000 for point in points)


def test_the_best_so_far_ends_where_a_trial_has_not_and_beats_nothing_but_worse(root: Path) -> None:
    trials = [
        _trial(0, score=9.0),
        _trial(1, "pruned"),
        _trial(2, score=11.0),
        _trial(3, "running"),
        _trial(4, score=3.0),
    ]
    _show(root, _sweep(root, trials))
    history = _client(root).get_metric_history(_named(root)["sweep"].info.run_id, "best/score")
    assert {point.step: point.value for point in history} == {0: 9.0, 1: 9.0, 2: 9.0}
    _show(root, _sweep(root, [*trials[:3], _trial(3, score=5.0), trials[4]]))
    history = _client(root).get_metric_history(_named(root)["sweep"].info.run_id, "best/score")
    assert [(point.step, point.value) for point in history] == [(0, 9.0), (1, 9.0), (2, 9.0), (3, 5.0), (4, 3.0)]


def test_showing_again_changes_nothing_and_more_trials_are_added(root: Path) -> None:
    sweep = _small(root)
    first = _show(root, sweep)
    before = {run.info.run_id: (run.info.status, run.data.to_dictionary()) for run in _shown(root)}
    second = _show(root, sweep)
    assert second.written == second.closed == first.unchanged == ()
    assert second.unchanged == first.written
    assert {run.info.run_id: (run.info.status, run.data.to_dictionary()) for run in _shown(root)} == before
    more = sweep._replace(trials=(*sweep.trials, _trial(2, score=8.0)))
    assert _show(root, more).written == ("trial-2",)
    assert before.keys() < {run.info.run_id for run in _shown(root)}


def test_a_running_trial_grows_and_what_a_kill_left_running_is_closed(root: Path) -> None:
    folder = root / "work" / "sweeps" / "small" / "trial-0"
    run = _run(folder, 1, 2, 400, None)
    mirror = SweepMirror(TRACKING, root)
    sweep = _sweep(root, [_trial(0, "running", runs={1: run})])
    assert mirror.show(sweep, whole=False, under_way=True).written == ("trial-0",)
    live = _named(root)
    assert (live["sweep"].info.status, live["trial-0"].info.status) == ("RUNNING", "RUNNING")
    journal = Journal(run.directory.journal, run.directory.journal.stat().st_size)
    _train(journal, run.directory, range(500, 901, 100))
    journal.close()
    assert mirror.show(sweep, whole=False, under_way=True).written == ()
    grown = _named(root)["trial-0"]
    assert grown.info.run_id == live["trial-0"].info.run_id
    assert grown.info.status == "RUNNING"
    history = _client(root).get_metric_history(grown.info.run_id, METRIC)
    assert [point.step for point in history] == [200, 400, 600, 800]
    # Its worker and the mirror were killed.
    left = _show(root, _sweep(root, [_trial(0, "interrupted", runs={1: run})]))
    assert left.closed == ("trial-0", "small")
    closed = _named(root)
    assert (closed["sweep"].info.status, closed["trial-0"].info.status) == ("KILLED", "KILLED")
    assert "waits for its sweep to be resumed" in closed["trial-0"].data.tags["mlflow.note.content"]
    # It was gone on with.
    ended = _run(folder, 1, 2)
    assert _show(root, _sweep(root, [_trial(0, score=10.0, runs={1: ended})])).closed == ()
    done = _named(root)
    assert (done["sweep"].info.status, done["trial-0"].info.status) == ("FINISHED", "FINISHED")
    assert len(_client(root).get_metric_history(done["trial-0"].info.run_id, METRIC)) == 5


def test_what_was_cut_short_or_deleted_by_hand_is_shown_again(root: Path) -> None:
    sweep = _small(root)
    sweep = sweep._replace(trials=(*sweep.trials, _trial(2, "crashed")))
    _show(root, sweep)
    client, named = _client(root), _named(root)
    client.delete_tag(named["trial-1"].info.run_id, "gossipgan.content")
    client.delete_run(named["trial-2"].info.run_id)
    seed = next(
        run
        for run in _shown(root)
        if run.data.tags["gossipgan.role"] == "run" and run.data.tags["gossipgan.trial"] == "trial-0"
    )
    client.delete_run(seed.info.run_id)
    count = len(_shown(root))
    assert set(_show(root, sweep).written) == {"trial-0", "trial-1", "trial-2"}
    assert len(_shown(root)) == count + 2
    client.delete_run(_named(root)["sweep"].info.run_id)
    _show(root, sweep)
    again = _named(root)
    parent = again.pop("sweep").info.run_id
    assert {run.data.tags["mlflow.parentRunId"] for run in again.values()} == {parent}
    assert again["trial-0"].info.run_id == named["trial-0"].info.run_id


def test_a_view_outlives_the_runs_that_it_was_made_of(root: Path) -> None:
    sweep = _small(root)
    _show(root, sweep)
    before = {run.info.run_id for run in _shown(root)}
    gone = sweep._replace(trials=tuple(trial._replace(runs={}) for trial in sweep.trials))
    assert _show(root, gone).written == ()
    assert {run.info.run_id for run in _shown(root)} == before


def test_sweeps_of_one_name_and_equal_runs_keep_apart(root: Path) -> None:
    ours = _small(root)
    theirs = ours._replace(id="b2", trials=ours.trials[:1])
    _show(root, ours)
    before = {run.info.run_id for run in _shown(root)}
    assert _show(root, theirs).written == ("trial-0",)
    assert before < {run.info.run_id for run in _shown(root)}
    assert _show(root, ours).written == ()
    assert _show(root, theirs).written == ()
    assert len([run for run in _shown(root) if run.data.tags["gossipgan.role"] == "run"]) == 1 + 1


def test_the_file_and_the_report_are_the_sweeps_artifacts(root: Path) -> None:
    sweep = _sweep(root, [_trial(0, score=9.0)])
    write_atomic(sweep.file, "space: {lookahead.k: {int: [2, 9]}}\n# postgresql://me:hush@db.example/sweeps\n")
    _show(root, sweep)
    write_atomic(sweep.report / "report.html", "<p>first</p>")
    write_atomic(sweep.report / "plots" / "history.png", "picture")
    _show(root, sweep)
    write_atomic(sweep.report / "report.html", "<p>second</p>")
    _show(root, sweep)
    parent = _named(root)["sweep"].info.run_id
    folder = Path(_client(root).download_artifacts(parent, "", str(root)))
    assert (folder / "report" / "report.html").read_text() == "<p>second</p>"
    assert (folder / "report" / "plots" / "history.png").exists()
    assert "lookahead.k" in (folder / "small.yaml").read_text()
    assert "hush" not in (folder / "small.yaml").read_text()


def test_a_server_that_is_away_costs_a_warning_that_names_the_way_back(root: Path) -> None:
    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "1"
    away = TrackingSettings(uri="http://127.0.0.1:9")
    began = time.monotonic()
    shown = SweepMirror(away, root).show(_sweep(root, [_trial(0, score=9.0)]))
    assert time.monotonic() - began < 60
    assert shown.written == ()
    assert shown.warning is not None
    assert "nothing is lost: gossipgan sweep sync small fills it again" in shown.warning
    assert "\n" not in shown.warning


def test_mlflow_false_writes_nothing(build: Build) -> None:
    root = build(experiments=(), fresh=True)
    assert SweepMirror(TrackingSettings(mlflow=False), root).show(_sweep(root, [])) == ((), (), (), None)
    assert not (root / "mlflow.db").exists()
