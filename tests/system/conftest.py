"""The product as a person has it: a copy of the project in an empty folder, and its commands as real processes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from ruamel.yaml import YAML

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


def run(command: str, folder: Path, *, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder, and check how it ends."""
    done = subprocess.run(
        command.split(), cwd=folder, env=environment(), text=True, capture_output=True, timeout=600, check=False
    )
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


@pytest.fixture(scope="session")
def prepared_for_sweeps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project for sweeps. Tests must not change it: see ``for_sweeps``."""
    from .sweeping import PARAMS

    path = tmp_path_factory.mktemp("sweeps") / "project"
    prepare_project(path, PARAMS)
    return path


@pytest.fixture
def for_sweeps(prepared_for_sweeps: Path, tmp_path: Path) -> Path:
    """A copy of the project for sweeps, to change."""
    shutil.copytree(prepared_for_sweeps, tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project on which ``dvc repro`` has been run once. Tests must not change it: see ``project``."""
    folder = make_project(tmp_path_factory.mktemp("system") / "project")
    run("dvc repro", folder)
    commit(folder)
    return folder


@pytest.fixture
def project(reproduced: Path, tmp_path: Path) -> Path:
    """A copy of the reproduced project, to change."""
    shutil.copytree(reproduced, tmp_path / "project", symlinks=True)
    return tmp_path / "project"
