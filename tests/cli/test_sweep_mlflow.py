"""``gossipgan sweep sync``, and what ``sweep report`` leaves in MLflow: over a sweep of which two trials are done."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest

from gossipgan.config import load_params
from gossipgan.sweeps import StudyStorage, default_url, load_sweep
from gossipgan.sweeps.study import choose_study, claim

from .conftest import Gossipgan

PARAMS = "training: {steps: 100, device: cpu}\nseeds: [1]\nexperiments: {baseline: {}}\n"


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """No store of the person who runs the tests, and what the code sets is taken back."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        del os.environ[name]
    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "1"
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a sweep whose trials scored their k."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps" / "some.yaml").write_text(
        "space: {lookahead.k: {int: [2, 9]}}\nbaselines: []\nbudget: {trials: 2}\n"
    )
    monkeypatch.chdir(tmp_path)
    sweep = load_sweep(tmp_path / "sweeps" / "some.yaml", load_params(tmp_path / "params.yaml"))
    storage = StudyStorage(default_url(tmp_path), create=True)
    choose_study(storage, sweep, "digest", ["fid_digits_2000_ema"], fork=False)
    while (taken := claim(storage, sweep, "some", 2, "digest")) is not None:
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, float(taken.settings.lookahead.k))
    storage.close()
    return tmp_path


@pytest.fixture
def store(folder: Path, empty_store: Path) -> Path:
    """The project's own store, still empty."""
    return Path(shutil.copy(empty_store, folder / "mlflow.db"))


def _shown(store: Path) -> dict[str, Any]:
    """MLflow's runs by name; no name twice."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{store}")
    experiment = client.get_experiment_by_name("gossipgan")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    named = {run.info.run_name: run for run in runs}
    assert len(named) == len(runs)
    return named


def _artifacts(store: Path, folder: str) -> set[str]:
    """Names of the files in a folder of the sweep's artifacts."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{store}")
    return {Path(one.path).name for one in client.list_artifacts(_shown(store)["some"].info.run_id, folder)}


def _set_tracking(folder: Path, text: str) -> None:
    (folder / "params.yaml").write_text(f"{PARAMS}tracking: {text}\n")


def _values(folder: Path) -> list[float]:
    study = optuna.load_study(study_name="some", storage=default_url(folder))
    return [trial.values[0] for trial in study.get_trials()]


def test_sync_writes_what_is_missing_and_says_how_much(gossipgan: Gossipgan, folder: Path, store: Path) -> None:
    done = gossipgan("sweep", "sync", "some")
    assert (done.status, done.out, done.err) == (0, "some: 2 trials written, 0 already there\n", "")
    shown = _shown(store)
    assert shown.keys() == {"some", "trial-0", "trial-1"}
    assert [shown[f"trial-{number}"].data.metrics["score"] for number in (0, 1)] == _values(folder)
    again = gossipgan("sweep", "sync")  # all sweeps
    assert (again.status, again.out) == (0, "some: 0 trials written, 2 already there\n")
    assert {run.info.run_id for run in _shown(store).values()} == {run.info.run_id for run in shown.values()}


def test_sync_says_in_one_line_why_nothing_is_written(gossipgan: Gossipgan, folder: Path) -> None:
    unknown = gossipgan("sweep", "sync", "soem")
    assert (unknown.status, unknown.err.count("\n")) == (2, 1)
    assert "no sweep 'soem'; there are some; did you mean 'some'?" in unknown.err
    _set_tracking(folder, "{mlflow: false}")
    off = gossipgan("sweep", "sync")
    assert (off.status, off.err.count("\n")) == (2, 1)
    assert "params.yaml: tracking.mlflow is false" in off.err
    _set_tracking(folder, "{uri: 'http://127.0.0.1:9'}")
    away = gossipgan("sweep", "sync")
    assert (away.status, away.err.count("\n")) == (1, 1)
    assert away.err.startswith("warning: MLflow at http://127.0.0.1:9: not written: ")
    assert away.out == "some: 0 trials written, 0 already there\n"
    assert not (folder / "mlflow.db").exists()


def test_the_reports_files_are_artifacts_of_the_sweep(gossipgan: Gossipgan, folder: Path, store: Path) -> None:
    assert gossipgan("sweep", "report", "some", "--out", "elsewhere").status == 0
    gossipgan("sweep", "sync", "some")
    assert _artifacts(store, "report") == set()
    done = gossipgan("sweep", "report", "some")
    assert (done.status, done.err) == (0, "")
    names = {path.name for path in (folder / "reports" / "sweeps" / "some").iterdir()}
    assert {"report.html", "report.json"} < names
    assert any(name.endswith(".png") for name in names)
    assert _artifacts(store, "report") == names


def test_a_report_is_written_though_mlflow_is_away_or_not_wanted(gossipgan: Gossipgan, folder: Path) -> None:
    page = folder / "reports" / "sweeps" / "some" / "report.html"
    _set_tracking(folder, "{mlflow: false}")
    database = (folder / "sweeps.db").read_bytes()
    off = gossipgan("sweep", "report", "some")
    assert (off.status, off.err) == (0, "")
    assert (folder / "sweeps.db").read_bytes() == database
    page.unlink()
    _set_tracking(folder, "{uri: 'http://127.0.0.1:9'}")
    away = gossipgan("sweep", "report", "some")
    assert (away.status, away.out, away.err.count("\n")) == (0, off.out, 1)
    assert away.err.startswith("warning: MLflow at http://127.0.0.1:9: not written: ")
    assert away.err.endswith("gossipgan sweep sync some fills it again\n")
    assert page.exists()
    assert not (folder / "mlflow.db").exists()
