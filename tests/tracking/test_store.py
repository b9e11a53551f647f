import os
from pathlib import Path

import pytest

from gossipgan.config import TrackingSettings
from gossipgan.tracking import quiet_environment, resolve_uri
from gossipgan.tracking.store import warning_line


def test_settings_go_before_the_environment_and_the_environment_before_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve_uri(TrackingSettings(), tmp_path) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    assert resolve_uri(TrackingSettings(), tmp_path) == "http://127.0.0.1:5000"
    assert resolve_uri(TrackingSettings(uri="sqlite:////x.db"), tmp_path) == "sqlite:////x.db"


def test_the_default_is_absolute_whatever_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_uri(TrackingSettings(), Path()) == f"sqlite:///{tmp_path.resolve()}/mlflow.db"


def test_what_a_person_has_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "9")
    quiet_environment()
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "9"
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_a_warning_is_one_line_without_the_password(tmp_path: Path) -> None:
    tracking = TrackingSettings(uri="postgresql://me:hush@db.example/mlflow")
    error = OSError("cannot reach postgresql://me:hush@db.example/mlflow\nsecond line")
    line = warning_line(error, tracking, tmp_path)
    assert "hush" not in line
    assert "\n" not in line
