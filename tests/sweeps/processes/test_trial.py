"""Processes of runs that end in other ways than well, on a real small project."""

import resource
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gossipgan.config import Settings
from gossipgan.evaluation.metrics import Gaussian
from gossipgan.evaluation.reference import Reference, cached_reference
from gossipgan.runs import RunDirectory
from gossipgan.sweeps.processes import Nursery, RunRequest, last_line, outcome_of_exit, run_trial
from gossipgan.sweeps.processes.outcome import DONE, MISTAKE, OUT_OF_MEMORY, UNSCORED

from ..conftest import SMALL


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


def test_a_run_that_ends_well_leaves_its_result(small_project: Path, tmp_path: Path) -> None:
    assert _run(small_project, tmp_path)[0] == DONE
    assert RunDirectory(tmp_path / "run").read_result()["outcome"] == "ok"


def test_too_little_memory_is_told_apart_from_a_crash(small_project: Path, tmp_path: Path) -> None:
    status, said = _run(small_project, tmp_path, _confined, training={"batch": 65536})
    assert status == OUT_OF_MEMORY
    assert said.startswith("out of memory")
    assert outcome_of_exit(status, 0)[:2] == ("out-of-memory", False)


def test_a_mistake_in_the_settings_is_not_tried_again(small_project: Path, tmp_path: Path) -> None:
    status, said = _run(
        small_project, tmp_path, mixing={"kind": "gossip", "learners": 3, "topology": "custom", "file": "no.edges"}
    )
    assert status == MISTAKE
    assert "no.edges: " in said
    assert outcome_of_exit(status, 0)[:2] == ("crashed", False)


def test_a_score_that_is_no_number_is_divergence(small_project: Path, tmp_path: Path) -> None:
    """The reference lies infinitely far away, so that FID is infinite."""
    root = tmp_path / "project"
    shutil.copytree(small_project, root)
    (path,) = (root / "cache").glob("reference-*")
    path.unlink()
    far = Gaussian(np.full(8, np.inf, np.float32), np.eye(8))
    cached_reference(root / "cache", path.stem.removeprefix("reference-"), lambda: Reference(far, torch.zeros(100, 8)))
    status, said = _run(root, tmp_path)
    assert status == UNSCORED
    assert said.startswith("fid came out as inf")
    assert outcome_of_exit(status, 0)[:2] == ("diverged", False)
