import json
import math
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from gossipgan.config import TrackingSettings
from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory, read_journal, write_json
from gossipgan.tracking import METRICS_AT_ONCE, mirror_run, resolve_uri, sync

Build = Callable[..., Path]
TRACKING = TrackingSettings()


def _client(root: Path, tracking: TrackingSettings = TRACKING) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=resolve_uri(tracking, root))


def _runs(root: Path, role: str, tracking: TrackingSettings = TRACKING) -> list[Any]:
    client = _client(root, tracking)
    experiment = client.get_experiment_by_name(tracking.experiment)
    return list(client.search_runs([experiment.experiment_id], f"tags.`gossipgan.role` = '{role}'"))


def _history(root: Path, run_id: str, name: str, tracking: TrackingSettings = TRACKING) -> dict[int, float]:
    return {point.step: point.value for point in _client(root, tracking).get_metric_history(run_id, name)}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_metrics_equal_the_journal_by_step_and_by_images(build: Build) -> None:
    root = build(entries=300, fresh=True)
    assert sync(root, tracking=TRACKING).written == ("baseline/seed-1",)
    (run,) = _runs(root, "run")
    entries = list(read_journal(root / "runs/baseline/seed-1/journal.jsonl"))
    assert METRICS_AT_ONCE < 2 * 4 * 300
    for name in ("loss_d", "loss_g", "d_real", "d_fake", "fid_digits_2000_ema"):
        held = [entry for entry in entries if name in entry]
        assert _history(root, run.info.run_id, name) == {e["step"]: e[name] for e in held}
        assert _history(root, run.info.run_id, f"by_images/{name}") == {e["images"]: e[name] for e in held}
    assert _history(root, run.info.run_id, "final/fid_digits_2000_ema") == {15000: 14.25}
    points = _client(root).get_metric_history(run.info.run_id, "loss_d")
    assert all(point.timestamp == (1_700_000_000 + point.step) * 1000 for point in points)


def test_a_run_shows_what_it_was(build: Build) -> None:
    root = build(experiments=("lookahead",))
    synced = sync(root, tracking=TRACKING)
    (run,) = _runs(root, "run")
    (parent,) = _runs(root, "pipeline")
    tags, params = run.data.tags, run.data.params
    settings, identity = RunDirectory(root / "runs/lookahead/seed-1").read_settings()
    assert tags["mlflow.parentRunId"] == parent.info.run_id == synced.parent_id
    assert tags["gossipgan.fingerprint"] == identity["fingerprint"]
    assert tags["gossipgan.method"] == "alternating adam + lookahead joint k=5 alpha=0.5"
    assert tags["gossipgan.data_digest"] == "ab" * 32
    assert (tags["gossipgan.seed"], tags["gossipgan.outcome"]) == ("1", "ok")
    assert params["lookahead.alpha"] == "0.5"
    assert params["training.steps"] == str(settings.training.steps)
    assert params["extractor_measured.held_out_accuracy"] == "0.98"
    assert run.info.status == "FINISHED"
    (data,) = run.inputs.dataset_inputs
    assert ("ab" * 32).startswith(data.dataset.digest)
    artifacts = {file.path for file in _client(root).list_artifacts(run.info.run_id)}
    assert artifacts >= {"settings.yaml", "journal.jsonl", "result.json", "environment.json", "samples"}
    assert run.info.artifact_uri.startswith((root / "mlartifacts").as_uri())


def test_syncing_again_duplicates_nothing(build: Build) -> None:
    root = build(experiments=("baseline", "lookahead"), seeds=(1, 2))
    first = sync(root, tracking=TRACKING)
    ids = {run.info.run_id for run in _runs(root, "run")}
    second = sync(root, tracking=TRACKING)
    assert len(first.written) == len(second.unchanged) == len(ids) == 4
    assert second.written == ()
    assert second.parent_id == first.parent_id
    assert {run.info.run_id for run in _runs(root, "run")} == ids
    assert len(_runs(root, "pipeline")) == 1


def test_a_view_that_was_cut_short_or_is_out_of_date_is_made_anew(build: Build) -> None:
    root = build(seeds=(1, 2))
    sync(root, tracking=TRACKING)
    cut = next(run for run in _runs(root, "run") if run.data.tags["gossipgan.seed"] == "1")
    _client(root).delete_tag(cut.info.run_id, "gossipgan.content")
    metrics = root / "metrics/baseline/seed-2.json"
    metrics.write_text(json.dumps({"outcome": "ok", "fid_digits_2000_ema": 9.5}))
    assert set(sync(root, tracking=TRACKING).written) == {"baseline/seed-1", "baseline/seed-2"}
    runs = {run.data.tags["gossipgan.seed"]: run for run in _runs(root, "run")}
    assert len(_runs(root, "run")) == 2
    assert runs["1"].info.run_id != cut.info.run_id
    assert runs["2"].data.metrics["final/fid_digits_2000_ema"] == 9.5


def test_the_pipeline_and_the_command_show_the_same_whatever_else_lies_in_runs(build: Build) -> None:
    root = build(experiments=("baseline", "dropped"), data_limit=60)
    compared: dict[str, Any] = {"experiments": ["baseline"], "seeds": [1]}
    stage = sync(root, tracking=TRACKING, **compared)
    assert stage.written == ("baseline/seed-1",)
    (run,) = _runs(root, "run")
    (data,) = run.inputs.dataset_inputs
    assert json.loads(data.dataset.profile) == {"train": 60, "held_out": 20}
    command = sync(root, tracking=TRACKING, **compared, others=True)
    assert (command.written, command.unchanged) == (("dropped/seed-1",), ("baseline/seed-1",))
    again = sync(root, tracking=TRACKING, **compared)
    assert (again.written, again.parent_id) == ((), stage.parent_id)
    parents = {r.data.tags["gossipgan.experiment"]: r.data.tags.get("mlflow.parentRunId") for r in _runs(root, "run")}
    assert parents == {"baseline": stage.parent_id, "dropped": None}
    shutil.rmtree(root / "data")  # what was shown of it is not taken back
    assert sync(root, tracking=TRACKING, **compared).written == ()


def test_a_new_comparison_takes_the_runs_along(build: Build) -> None:
    root = build()
    old = sync(root, tracking=TRACKING).parent_id
    comparison = {
        "experiments": {"baseline": {"metrics": {"fid_digits_2000_ema": {"mean": 14.25, "std": None}}}},
        "floor": {"fid_digits_1000_floor": 0.4},
    }
    (root / "reports").mkdir()
    (root / "reports/comparison.json").write_text(json.dumps(comparison))
    new = sync(root, tracking=TRACKING)
    (parent,) = _runs(root, "pipeline")
    (run,) = _runs(root, "run")
    assert new.unchanged == ("baseline/seed-1",)
    assert parent.info.run_id == new.parent_id != old
    assert run.data.tags["mlflow.parentRunId"] == new.parent_id
    assert parent.data.metrics == {
        "baseline/fid_digits_2000_ema_mean": 14.25,
        "floor/fid_digits_1000_floor": 0.4,
    }


def test_a_diverged_run_is_failed_and_its_infinite_loss_is_counted_not_drawn(build: Build) -> None:
    root = build(outcome="diverged")
    sync(root, tracking=TRACKING)
    (run,) = _runs(root, "run")
    assert run.info.status == "FAILED"
    assert run.data.tags["gossipgan.outcome"] == "diverged"
    assert run.data.tags["gossipgan.not_finite/loss_d"] == "1"
    history = _history(root, run.info.run_id, "loss_d")
    assert len(history) == 39
    assert all(math.isfinite(value) and value < 1e300 for value in history.values())


def test_a_run_outside_the_pipeline_needs_neither_parent_nor_clock(build: Build, tmp_path: Path) -> None:
    run = RunDirectory(build() / "runs/baseline/seed-1")
    given: dict[str, Any] = {"tracking": TRACKING, "root": tmp_path, "experiment": "baseline", "seed": 1}
    first = mirror_run(run, {}, **given)
    assert first.written
    assert mirror_run(run, {}, **given) == (first.run_id, False, None)


def _write_spectrum(run: RunDirectory, weights: dict[str, str], radius: float) -> None:
    summary = {"jvf_radius": radius, "jvf_rotating": 4, "jvf_max_imaginary_to_real": None}
    write_json(run.spectrum, {"weights": weights, "summary": summary})
    run.spectrum_plot.write_bytes((run.samples / "step-00000500.png").read_bytes())


def test_a_spectrum_is_shown_beside_the_rest_once_it_is_there_and_anew_when_it_changes(build: Build) -> None:
    root = build(seeds=(1, 2))
    sync(root, tracking=TRACKING)
    ids = {run.data.tags["gossipgan.seed"]: run.info.run_id for run in _runs(root, "run")}
    directory = RunDirectory(root / "runs/baseline/seed-2")
    _write_spectrum(directory, {}, 12.5)
    assert sync(root, tracking=TRACKING).written == ("baseline/seed-2",)
    assert sync(root, tracking=TRACKING).written == ()
    runs = {run.data.tags["gossipgan.seed"]: run for run in _runs(root, "run")}
    assert runs["1"].info.run_id == ids["1"]
    assert len(_runs(root, "run")) == 2
    metrics = {name: value for name, value in runs["2"].data.metrics.items() if name.startswith("spectrum/")}
    assert metrics == {"spectrum/jvf_radius": 12.5, "spectrum/jvf_rotating": 4.0}
    assert _history(root, runs["2"].info.run_id, "spectrum/jvf_radius") == {2000: 12.5}
    assert "final/fid_digits_2000_ema" in runs["2"].data.metrics
    artifacts = {file.path for file in _client(root).list_artifacts(runs["2"].info.run_id)}
    assert artifacts >= {"spectrum.json", "spectrum.png"}
    _write_spectrum(directory, {}, 13.0)
    assert sync(root, tracking=TRACKING).written == ("baseline/seed-2",)
    (shown,) = [run for run in _runs(root, "run") if run.data.tags["gossipgan.seed"] == "2"]
    assert shown.data.metrics["spectrum/jvf_radius"] == 13.0


def test_a_spectrum_of_weights_that_the_run_no_longer_has_is_not_shown(build: Build) -> None:
    root = build()
    _write_spectrum(RunDirectory(root / "runs/baseline/seed-1"), {"generator-fast": "ab" * 32}, 12.5)
    sync(root, tracking=TRACKING)
    (run,) = _runs(root, "run")
    assert "spectrum/jvf_radius" not in run.data.metrics
    artifacts = {file.path for file in _client(root).list_artifacts(run.info.run_id)}
    assert not artifacts & {"spectrum.json", "spectrum.png"}


def test_a_damaged_spectrum_is_named(build: Build) -> None:
    root = build()
    (root / "runs/baseline/seed-1/spectrum.json").write_text("{")
    with pytest.raises(UserError, match=r"seed-1/spectrum\.json: damaged; run gossipgan spectrum"):
        sync(root, tracking=TRACKING)


def test_mlflow_false_writes_nothing(build: Build) -> None:
    root = build(fresh=True)
    assert sync(root, tracking=TrackingSettings(mlflow=False)).parent_id is None
    assert not (root / "mlflow.db").exists()


def test_a_run_that_has_not_ended_is_named_and_left_out(build: Build) -> None:
    root = build(seeds=(1, 2))
    (root / "runs/baseline/seed-2/result.json").unlink()
    synced = sync(root, tracking=TRACKING)
    assert (synced.written, synced.unfinished) == (("baseline/seed-1",), ("baseline/seed-2",))


def test_a_password_in_the_uri_reaches_no_parameter_and_no_artifact(build: Build) -> None:
    uri = "postgresql://me:hush@db.example/mlflow"
    root = build(tracking={"uri": uri})
    store = TrackingSettings(uri=f"sqlite:///{root}/mlflow.db")
    sync(root, tracking=store)
    (run,) = _runs(root, "run", store)
    assert not any("hush" in value for value in run.data.params.values())
    path = _client(root, store).download_artifacts(run.info.run_id, "settings.yaml", str(root))
    assert "hush" not in Path(path).read_text()


def test_a_server_that_is_away_costs_seconds_and_one_warning(build: Build) -> None:
    root = build(seeds=(1, 2, 3))
    tracking = TrackingSettings(uri=f"http://127.0.0.1:{_free_port()}")
    began = time.monotonic()
    synced = sync(root, tracking=tracking)
    assert time.monotonic() - began < 20
    assert synced.written == ()
    assert synced.warning is not None
    assert "\n" not in synced.warning
    assert "gossipgan mlflow sync" in synced.warning


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real MLflow server of its own."""
    folder, port = tmp_path_factory.mktemp("server"), _free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{folder}/server.db"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    environment = {**os.environ, "DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                if requests.get(f"http://127.0.0.1:{port}/health", timeout=2).ok:
                    break
            except requests.RequestException:
                pass
            assert time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            time.sleep(0.25)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(20)


def test_a_real_server_takes_the_same_view_and_no_duplicates(build: Build, server: str) -> None:
    root = build(fresh=True)
    tracking = TrackingSettings(uri=server)
    first = sync(root, tracking=tracking)
    assert first.warning is None
    assert sync(root, tracking=tracking).unchanged == ("baseline/seed-1",)
    (run,) = _runs(root, "run", tracking)
    entries = [e for e in read_journal(root / "runs/baseline/seed-1/journal.jsonl") if "loss_g" in e]
    assert _history(root, run.info.run_id, "loss_g", tracking) == {e["step"]: e["loss_g"] for e in entries}
    artifacts = {file.path for file in _client(root, tracking).list_artifacts(run.info.run_id)}
    assert "journal.jsonl" in artifacts
    assert not (root / "mlflow.db").exists()
