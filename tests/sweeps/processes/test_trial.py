"""Processes of runs that end in other ways than well, on a real small project."""

import json
import resource
import shutil
import subprocess
import sys
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


def _request(root: Path, folder: Path, **sections: dict[str, Any]) -> dict[str, Any]:
    settings = {name: {**SMALL.get(name, {}), **sections.get(name, {})} for name in {*SMALL, *sections}}
    return RunRequest(
        root=str(root),
        experiment="some",
        settings=Settings.model_validate(settings).model_dump(mode="json"),
        seed=1,
        run=str(folder / "run"),
        log=str(folder / "log"),
        scores=None,
        devices=None,
    )._asdict()


def _run(root: Path, folder: Path, target: Any = run_trial, **sections: dict[str, Any]) -> tuple[int, str]:
    """A run's exit status, and the last line of its log."""
    nursery = Nursery(lambda: None, target)
    pid = nursery.spawn(_request(root, folder, **sections))
    ended: dict[int, int] = {}
    while pid not in ended:
        ended.update(nursery.ended(1.0))
    nursery.close()
    return ended[pid], last_line(folder / "log")


def test_a_run_that_ends_well_leaves_its_result(small_project: Path, tmp_path: Path) -> None:
    assert _run(small_project, tmp_path)[0] == DONE
    assert RunDirectory(tmp_path / "run").read_result()["outcome"] == "ok"


#: A run in a process that has made the imports of the fork server: what it imports itself, it would in every trial.
_IMPORTS = """
import json, sys
from gossipgan.sweeps.processes import import_training, run_trial
import_training()
before = set(sys.modules)
assert run_trial(json.loads(sys.argv[1])) == 0
json.dump(sorted({name.partition(".")[0] for name in set(sys.modules) - before}), open(sys.argv[2], "w"))
"""


def test_a_trial_has_nothing_heavy_left_to_import(small_project: Path, tmp_path: Path) -> None:
    found = tmp_path / "imported.json"
    request = json.dumps(_request(small_project, tmp_path))
    subprocess.run([sys.executable, "-c", _IMPORTS, request, str(found)], check=True, timeout=600)
    imported = set(json.loads(found.read_text()))
    assert not imported & {"torchvision", "torch_fidelity", "scipy", "sympy", "sklearn", "mlflow", "optuna"}


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
