"""Known runs as real processes: which GPUs each of them sees."""

import itertools
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from gossipgan.config import Settings, fingerprint
from gossipgan.data import Store
from gossipgan.sweeps.jobs import Job, Ruling, run_jobs
from gossipgan.sweeps.processes import Nursery, run_trial

from ..conftest import SMALL


def _noting(request: dict[str, Any]) -> int:
    """As runs are made; then says what the process had in its environment, and when."""
    began = time.monotonic()
    status = run_trial(request)
    note = {"sees": os.environ.get("CUDA_VISIBLE_DEVICES"), "began": began, "ended": time.monotonic()}
    Path(request["run"]).with_suffix(".note").write_text(json.dumps(note))
    return status


def _run(root: Path, folder: Path, runs: int, workers: int, devices: tuple[str, ...]) -> list[dict[str, Any]]:
    """Runs made so, each of a seed; what they noted."""
    settings = Settings.model_validate(SMALL)
    digest = Store.open(root / "data" / "prepared", verify=False).digest
    jobs = []
    for seed in range(runs):
        identity = fingerprint(settings, seed, digest)
        jobs.append(Job("some", settings, seed, identity, folder / f"seed-{seed}"))
    ruling = Ruling(root, "fid_digits_100_ema", True, workers, 0, devices)
    nursery = Nursery(lambda: None, _noting)
    ended = run_jobs(jobs, ruling, nursery, lambda seen: None)
    nursery.close()
    assert len(ended) == runs
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.note"))]


def test_runs_are_dealt_to_devices_and_no_two_have_one_at_a_time(
    small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    notes = _run(small_project, tmp_path, 4, 2, ("0", "2,3"))
    assert {note["sees"] for note in notes[:2]} == {"0", "2,3"}
    for device in ("0", "2,3"):
        times = sorted((note["began"], note["ended"]) for note in notes if note["sees"] == device)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(times))
    assert {note["sees"] for note in notes} == {"0", "2,3"}


def test_without_devices_runs_see_what_the_command_sees(
    small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    assert [note["sees"] for note in _run(small_project, tmp_path, 2, 2, ())] == ["5", "5"]
