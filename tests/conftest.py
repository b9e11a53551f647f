"""What every test process starts from: one thread, and Ctrl-C as it is in a terminal.

The tests share the machine, and results depend on the number of threads. A shell ignores SIGINT in what it runs in
the background, and children inherit that: commands that tests start could not be interrupted then.
"""

import fcntl
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Gives the folder of a name, after the first of all test processes that needs it has built it.
Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Builds what all test processes share. Tests must not change it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def build_once(name: str, build: Callable[[Path], object]) -> Path:
        folder, built = shared / name, shared / f"{name}.built"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not built.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a process that has failed to build it
                folder.mkdir()
                build(folder)
                built.touch()
        return folder

    return build_once


@pytest.fixture(scope="session")
def empty_store(once: Once) -> Path:
    """MLflow's tables without a run: making them takes seconds, so most tests start from a copy."""
    from gossipgan.tracking import quiet_environment

    quiet_environment()  # before the import

    def build(folder: Path) -> None:
        from mlflow import MlflowClient

        MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db").search_experiments()

    return once("store", build) / "mlflow.db"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "Scheduling":
    """Deal out files, whatever ``--dist`` says."""
    from .scheduling import ByFile

    return ByFile(config, log)
