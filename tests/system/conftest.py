"""The product as a person has it: a copy of the project in an empty folder, and its commands as real processes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from ..conftest import Once
from .warm import Warm

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

#: Runs of seconds rather than minutes; everything else as it ships.
QUICK = {
    "data.limit": 600,
    "data.held_out": 300,
    "extractor.width": 8,
    "extractor.features": 16,
    "extractor.epochs": 2,
    "game.width": 4,
    "training.steps": 60,
    "training.batch": 16,
    "training.threads": 1,
    "training.log_every": 10,
    "training.evaluate_every": 30,
    "training.sample_every": 30,
    "training.checkpoint_every": 10,
    "evaluation.samples": 200,
    "evaluation.kid_subset_size": 100,
    "evaluation.kid_subsets": 5,
}


def environment() -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(("MLFLOW_", "COV_"))},
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "DVC_NO_ANALYTICS": "true",
        "OMP_NUM_THREADS": "1",
    }


_warm = Warm()
#: Commands of the product, without what they are given, that have been started cold.
_known: set[str] = set()


def run(command: str, folder: Path, *, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder, and check how it ends. One of the product's is started warm but for once."""
    words = command.split()
    name = " ".join(words[: 3 if words[1] in ("sweep", "mlflow") else 2])
    if name in _known:
        done = _warm.run(words, folder, environment(), timeout=600)
    else:
        done = subprocess.run(
            words, cwd=folder, env=environment(), text=True, capture_output=True, timeout=600, check=False
        )
        if words[0] == "gossipgan":
            _known.add(name)
    assert done.returncode == status, f"{command}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def wait_until(condition: Callable[[], object], process: "subprocess.Popen[str]", seconds: float = 120) -> None:
    """Wait for something that a running process does; fail if it ends first or takes longer."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def edit_params(folder: Path, settings: dict[str, object]) -> None:
    """Change ``params.yaml`` as a person would: by dotted key, the rest as it was."""
    yaml = YAML()
    content = yaml.load(folder / "params.yaml")
    for dotted, value in settings.items():
        *sections, key = dotted.split(".")
        section = content
        for name in sections:
            section = section[name]
        section[key] = value
    yaml.dump(content, folder / "params.yaml")


def _keep_experiments(folder: Path, names: Collection[str]) -> None:
    yaml = YAML()
    content = yaml.load(folder / "params.yaml")
    for name in [one for one in content["experiments"] if one not in names]:
        del content["experiments"][name]
    yaml.dump(content, folder / "params.yaml")


def make_project(folder: Path) -> Path:
    """A clone's files, without results, with two of the experiments, quick settings and one seed; under git and DVC."""
    folder.mkdir()
    for name in ("params.yaml", "dvc.yaml", "pipeline", "src", ".gitignore"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy2(source, folder / name)
    _keep_experiments(folder, ("baseline", "lookahead"))
    edit_params(folder, {**QUICK, "seeds": [1]})
    run("git init -q", folder)
    run("dvc init -q", folder)
    shutil.copytree(ROOT / ".dvc" / "plots", folder / ".dvc" / "plots")
    shutil.copy2(ROOT / ".dvcignore", folder / ".dvcignore")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    run("git add -A", folder)
    run("git -c user.name=test -c user.email=test@example.org commit -q -m state", folder)


def prepare_project(folder: Path, params: str) -> None:
    """A project in a folder, made if need be, with these params: prepared, and with an extractor."""
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(params)
    run("gossipgan prepare", folder)
    run("gossipgan extractor", folder)


@pytest.fixture(scope="session", autouse=True)
def _end_of_warm() -> Iterator[None]:
    yield
    _warm.close()


@pytest.fixture(scope="session")
def prepared_for_sweeps(once: Once) -> Path:
    """A small project for sweeps. Tests must not change it: see ``for_sweeps``."""
    from .sweeping import PARAMS

    return once("sweeps", lambda folder: prepare_project(folder, PARAMS))


@pytest.fixture
def for_sweeps(prepared_for_sweeps: Path, tmp_path: Path) -> Path:
    """A copy of the project for sweeps, to change."""
    shutil.copytree(prepared_for_sweeps, tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture(scope="session")
def reproduced(once: Once) -> Path:
    """A project on which ``dvc repro`` has been run once. Tests must not change it: see ``project``."""

    def build(folder: Path) -> None:
        project = make_project(folder / "project")
        run("dvc repro", project)
        commit(project)

    return once("reproduced", build) / "project"


@pytest.fixture
def project(reproduced: Path, tmp_path: Path) -> Path:
    """A copy of the reproduced project, to change."""
    shutil.copytree(reproduced, tmp_path / "project", symlinks=True)
    return tmp_path / "project"
