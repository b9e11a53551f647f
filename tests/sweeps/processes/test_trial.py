"""Processes of runs that end in other ways than well, on a real small project."""

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gossipgan.config import Settings
from gossipgan.data import Store, prepare
from gossipgan.evaluation import Ruler, train_extractor
from gossipgan.evaluation.metrics import Gaussian
from gossipgan.evaluation.reference import Reference, cached_reference
from gossipgan.runs import RunDirectory
from gossipgan.sweeps.processes import Nursery, RunRequest, last_line, outcome_of_exit, run_trial
from gossipgan.sweeps.processes.outcome import DONE, MISTAKE, OUT_OF_MEMORY, UNSCORED

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


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with its pictures, extractor and reference."""
    root = tmp_path_factory.mktemp("project")
    settings = Settings.model_validate(SMALL)
    prepare(settings.data, root / "data" / "prepared")
    store = Store.open(root / "data" / "prepared")
    train_extractor(settings.extractor, store, root / "extractor", 1)
    Ruler.open(settings, store, root / "extractor", root / "cache", torch.device("cpu"))
    return root


def _confined(request: dict[str, Any]) -> int:
    """As trials are run, but with no more than a little memory beside what the process has already."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 64 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return run_trial(request)


def _run(root: Path, folder: Path, target: Any = run_trial, **sections: dict[str, Any]) -> tuple[int, str]:
    """A run's exit status, and the last line of its log."""
    settings = {name: {**SMALL.get(name, {}), **sections.get(name, {})} for name in {*SMALL, *sections}}
    request = RunRequest(
        root=str(root),
        experiment="some",
        settings=Settings.model_validate(settings).model_dump(mode="json"),
        seed=1,
        run=str(folder / "run"),
        log=str(folder / "log"),
        scores=None,
        devices=None,
    )
    nursery = Nursery(lambda: None, target)
    pid = nursery.spawn(request._asdict())
    ended: dict[int, int] = {}
    while pid not in ended:
        ended.update(nursery.ended(1.0))
    nursery.close()
    return ended[pid], last_line(folder / "log")


def test_a_run_that_ends_well_leaves_its_result(root: Path, tmp_path: Path) -> None:
    assert _run(root, tmp_path)[0] == DONE
    assert RunDirectory(tmp_path / "run").read_result()["outcome"] == "ok"


def test_too_little_memory_is_told_apart_from_a_crash(root: Path, tmp_path: Path) -> None:
    status, said = _run(root, tmp_path, _confined, training={"batch": 65536})
    assert status == OUT_OF_MEMORY
    assert said.startswith("out of memory")
    assert outcome_of_exit(status, 0)[:2] == ("out-of-memory", False)


def test_a_mistake_in_the_settings_is_not_tried_again(root: Path, tmp_path: Path) -> None:
    status, said = _run(
        root, tmp_path, mixing={"kind": "gossip", "learners": 3, "topology": "custom", "file": "no.edges"}
    )
    assert status == MISTAKE
    assert "no.edges: " in said
    assert outcome_of_exit(status, 0)[:2] == ("crashed", False)


def test_a_score_that_is_no_number_is_divergence(root: Path, tmp_path: Path) -> None:
    """The reference lies infinitely far away, so that FID is infinite."""
    (path,) = (root / "cache").glob("reference-*")
    whole = path.read_bytes()
    path.unlink()
    far = Gaussian(np.full(8, np.inf, np.float32), np.eye(8))
    cached_reference(root / "cache", path.stem.removeprefix("reference-"), lambda: Reference(far, torch.zeros(100, 8)))
    status, said = _run(root, tmp_path)
    path.write_bytes(whole)
    assert status == UNSCORED
    assert said.startswith("fid came out as inf")
    assert outcome_of_exit(status, 0)[:2] == ("diverged", False)
