"""A params file and sweep files of tests."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gossipgan.config import Settings, load_params
from gossipgan.data import Store, prepare
from gossipgan.evaluation import Ruler, train_extractor
from gossipgan.sweeps import Sweep, load_sweep

from ..conftest import Once

PARAMS = """
training: {steps: 100}
seeds: [3, 4]
experiments:
  baseline: {}          # what all are compared with
  gossip: {mixing: {kind: gossip, learners: 4}}
"""

#: Settings of runs of a second.
SMALL: dict[str, Any] = {
    "data": {"limit": 400, "held_out": 200},
    "extractor": {"width": 4, "features": 8, "epochs": 1},
    "game": {"width": 4, "latent": 8},
    "training": {
        "steps": 8,
        "batch": 8,
        "threads": 1,
        "device": "cpu",
        "log_every": 4,
        "evaluate_every": 4,
        "sample_every": 8,
        "checkpoint_every": 4,
    },
    "evaluation": {
        "samples": 100,
        "kid_subset_size": 50,
        "kid_subsets": 2,
        "batch": 100,
        "batch_norm": "running",
        "metrics": ["fid"],
    },
}

MakeSweep = Callable[[str], Sweep]


@pytest.fixture
def make_sweep(tmp_path: Path) -> MakeSweep:
    """From the text of a sweep file to the sweep, over a params file of two experiments."""
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "sweeps").mkdir()

    def make(text: str) -> Sweep:
        path = tmp_path / "sweeps" / "some.yaml"
        path.write_text(textwrap.dedent(text))
        return load_sweep(path, load_params(tmp_path / "params.yaml"))

    return make


@pytest.fixture(scope="session")
def small_project(once: Once) -> Path:
    """A project with its pictures, extractor and reference, for runs of ``SMALL``; it is not to be changed."""

    def build(root: Path) -> None:
        settings = Settings.model_validate(SMALL)
        prepare(settings.data, root / "data" / "prepared")
        store = Store.open(root / "data" / "prepared")
        train_extractor(settings.extractor, store, root / "extractor", 1)
        Ruler.open(settings, store, root / "extractor", root / "cache", torch.device("cpu"))

    return once("small-sweeps", build)
