"""A small project for sweeps, and what system tests of sweeps share."""

import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import optuna

from gossipgan.sweeps import StudyStorage, SweepView, TrialView, default_url, view

from .conftest import environment

optuna.logging.set_verbosity(optuna.logging.WARNING)

PARAMS = """
data: {limit: 400, held_out: 200}
extractor: {width: 4, features: 8, epochs: 1}
game: {width: 4, latent: 8}
averaging: {ema_half_life: 5}
training:
  steps: 24
  batch: 8
  threads: 1
  device: cpu
  log_every: 4
  evaluate_every: 8
  sample_every: 24
  checkpoint_every: 4
evaluation: {samples: 100, kid_subset_size: 50, kid_subsets: 2, batch: 100}
tracking: {mlflow: false}
seeds: [1]
experiments:
  # what all others are compared with
  baseline: {}   # as the sections are
"""

RANDOM = """
space:
  lookahead.kind: joint
  lookahead.k: {int: [2, 8]}
  lookahead.alpha: {float: [0.2, 1.0]}
  optimizer.generator.lr: {float: [1e-4, 1e-2], log: true}
  optimizer.discriminator.lr: {same_as: optimizer.generator.lr}
sampler: random
pruner: none
baselines: []
"""


def write(folder: Path, name: str, text: str) -> None:
    (folder / "sweeps").mkdir(exist_ok=True)
    (folder / "sweeps" / f"{name}.yaml").write_text(text)


def start(command: str, folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command.split(), cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def look(folder: Path, name: str) -> SweepView:
    with closing(StudyStorage(default_url(folder), create=False)) as storage:
        return view(storage, name, folder / "work" / "sweeps")


def trials_of(folder: Path, name: str) -> tuple[TrialView, ...]:
    return look(folder, name).trials


def processes(folder: Path, output: str = "") -> list[int]:
    """Processes that live in a folder, of whose output the file's name ends like this."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cwd").readlink() != folder.resolve():
                continue
            if not output or str((path / "fd/1").readlink()).endswith(output):
                found.append(int(path.name))
        except OSError:
            continue
    return found


def gone(folder: Path, seconds: float = 20.0) -> bool:
    """Whether no process lives in a folder, after so long at most."""
    deadline = time.monotonic() + seconds
    while processes(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes(folder)


def wait_until(condition: Callable[[], object], process: "subprocess.Popen[str]", every: float = 0.01) -> None:
    """As every system test waits, but longer: a sweep has several processes to start. ``every``: seconds."""
    deadline = time.monotonic() + 600
    while not condition():
        assert process.poll() is None, "ended too early"
        assert time.monotonic() < deadline
        time.sleep(every)


def has_checkpoint(folder: Path, trial: str, sweep: str = "*") -> Callable[[], bool]:
    return lambda: bool(list(folder.glob(f"work/sweeps/{sweep}/{trial}/seed-1/checkpoints/step-*")))
