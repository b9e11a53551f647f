"""A small game on real digits: prepared once, with a ruler, for all tests of training."""

from pathlib import Path
from typing import Any

import pytest
import torch

from gossipgan.config import Settings
from gossipgan.data import Store, prepare
from gossipgan.evaluation import Ruler, train_extractor

SMALL: dict[str, Any] = {
    "data": {"limit": 400, "held_out": 200},
    "extractor": {"width": 4, "features": 8, "epochs": 1},
    "game": {"width": 4, "latent": 8},
    "averaging": {"ema_half_life": 5},
    "training": {
        "steps": 20,
        "batch": 8,
        "threads": 1,
        "device": "cpu",
        "log_every": 4,
        "evaluate_every": 10,
        "sample_every": 10,
        "checkpoint_every": 5,
    },
    "evaluation": {"samples": 100, "kid_subset_size": 50, "kid_subsets": 2, "batch": 100, "batch_norm": "running"},
}


def small(**sections: dict[str, Any]) -> Settings:
    """The small settings, with some keys of some sections replaced."""
    merged = {name: {**SMALL.get(name, {}), **sections.get(name, {})} for name in {*SMALL, *sections}}
    return Settings.model_validate(merged)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("data") / "prepared"
    prepare(small().data, path)
    return Store.open(path)


@pytest.fixture(scope="session")
def ruler(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Ruler:
    folder: Path = tmp_path_factory.mktemp("extractor")
    train_extractor(small().extractor, store, folder, 1)
    return Ruler.open(small(), store, folder, folder / "cache", torch.device("cpu"))
