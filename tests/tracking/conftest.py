"""Run directories as training and evaluation leave them."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from gossipgan.config import DataSettings, Settings
from gossipgan.data import prepare
from gossipgan.runs import Journal, RunDirectory, write_atomic

Build = Callable[..., Path]
START = 1_700_000_000.0
METRICS = {"fid_digits_2000_ema": 14.25, "fid_digits_1000_floor": 0.4}


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """No store of the person who runs the tests, and what the code sets is taken back."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def build(tmp_path: Path, empty_store: Path) -> Build:
    """Builds a project's folder with runs of ``experiments`` at ``seeds``.

    ``fresh``: no store of MLflow's as yet; ``data_limit``: prepared pictures, which the runs were trained on.
    """

    def make(
        experiments: tuple[str, ...] = ("baseline",),
        seeds: tuple[int, ...] = (1,),
        outcome: str = "ok",
        entries: int = 40,
        fresh: bool = False,
        data_limit: int | None = None,
        **overrides: dict[str, object],
    ) -> Path:
        if not fresh:
            shutil.copy(empty_store, tmp_path / "mlflow.db")
        digest = "ab" * 32
        if data_limit is not None:
            settings = DataSettings(limit=data_limit, held_out=data_limit // 3)
            digest = prepare(settings, tmp_path / "data" / "prepared").digest
        for experiment in experiments:
            for seed in seeds:
                _run(tmp_path, experiment, seed, outcome, entries, overrides, digest)
        write_atomic(tmp_path / "extractor" / "extractor.json", json.dumps({"held_out_accuracy": 0.98}))
        return tmp_path

    return make


def _run(
    root: Path,
    experiment: str,
    seed: int,
    outcome: str,
    entries: int,
    overrides: dict[str, dict[str, object]],
    digest: str,
) -> None:
    given = {"lookahead": {"kind": "joint"}} if experiment == "lookahead" else {}
    run = RunDirectory(root / "runs" / experiment / f"seed-{seed}")
    run.write_settings(Settings.model_validate({**given, **overrides}), seed, digest, experiment)
    fingerprint = run.read_settings()[1]["fingerprint"]
    journal = Journal(run.journal)
    live = RunDirectory(root / "work" / experiment / f"seed-{seed}" / fingerprint[:12])
    clock = []
    for entry in range(1, entries + 1):
        step = entry * 50
        loss = float("inf") if outcome == "diverged" and entry == entries else 1.0 / step
        journal.append("losses", step, images=step * 64, loss_d=loss, loss_g=0.1 * entry, d_real=0.5, d_fake=-0.5)
        if step % 500 == 0:
            journal.append("score", step, images=step * 64, fid_digits_2000_ema=20000.0 / step)
        clock.append(json.dumps({"step": step, "seconds": float(step), "time": START + step}) + "\n")
    journal.append("end", entries * 50, images=entries * 3200, outcome=outcome, reason=None)
    journal.close()
    write_atomic(live.clock, "".join(clock))
    write_atomic(live.environment, json.dumps({"device": "cpu"}))
    run.samples.mkdir()
    Image.new("L", (224, 224), seed).save(run.samples / "step-00000500.png")
    run.write_result(
        outcome=outcome,
        steps=entries * 50,
        images=entries * 3200,
        fingerprint=fingerprint,
        seed=seed,
        data=digest,
        parameters={},
    )
    metrics = {"outcome": outcome, **METRICS}
    write_atomic(root / "metrics" / experiment / f"seed-{seed}.json", json.dumps(metrics))
