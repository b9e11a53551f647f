"""The default data, and the default extractor trained on them: once for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from gossipgan.config import DataSettings, EvaluationSettings, ExtractorSettings, Settings
from gossipgan.data import Store, prepare
from gossipgan.evaluation import Ruler, train_extractor


class Trained(NamedTuple):
    """The extractor stage's outcome."""

    folder: Path
    summary: dict[str, Any]


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("data") / "prepared"
    prepare(DataSettings(held_out=2000), path)
    return Store.open(path)


@pytest.fixture(scope="session")
def trained(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("extractor")
    return Trained(folder, train_extractor(ExtractorSettings(), store, folder, threads=1))


@pytest.fixture(scope="session")
def settings() -> Settings:
    """Few samples, so that each score takes a moment."""
    return Settings(evaluation=EvaluationSettings(samples=600, kid_subsets=10, kid_subset_size=200))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def ruler(settings: Settings, store: Store, trained: Trained, cache: Path) -> Ruler:
    return Ruler.open(settings, store, trained.folder, cache, torch.device("cpu"))


@pytest.fixture
def noisy(store: Store) -> torch.Tensor:
    """Pictures that are near the reference, though not of it: held-out digits under noise."""
    clean = torch.from_numpy(store.images("held_out")[:600].astype("float32"))
    noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(1))
    return (clean + 40 * noise).round().clamp(0, 255).to(torch.uint8)
