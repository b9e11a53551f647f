"""What every test process starts from: one thread, and Ctrl-C as it is in a terminal.

The tests share the machine, and results depend on the number of threads. A shell ignores SIGINT in what it runs in
the background, and children inherit that: commands that tests start could not be interrupted then.
"""

import signal
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MLflow's tables without a run: making them takes seconds, so most tests start from a copy."""
    from gossipgan.tracking import quiet_environment

    quiet_environment()  # before the import
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()
    return path


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share a costly fixture, or something of the machine, in one of several test processes."""
    for item in items:
        if "reproduced" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("reproduced"))
        elif "network" in Path(item.path).parts or Path(item.path).stem == "test_bench":
            item.add_marker(pytest.mark.xdist_group("network"))  # it makes hosts on this machine
        elif "system" in Path(item.path).parts:
            item.add_marker(pytest.mark.xdist_group(Path(item.path).stem))
