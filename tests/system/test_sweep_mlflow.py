"""A sweep and a real MLflow server that dies in the middle of it and comes back later."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from .conftest import environment, run
from .sweeping import PARAMS, RANDOM, start, trials_of, wait_until, write

pytestmark = pytest.mark.system


#: No telemetry, and none of the processes for jobs that nobody asks of it.
QUIET = {"DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


class Server:
    """MLflow's server on a port of its own; it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port: int = listener.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self._folder = folder

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{self._folder}/server.db"]
        command += ["--artifacts-destination", str(self._folder / "artifacts")]
        with (self._folder / "server.log").open("a") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                env={**environment(), **QUIET},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 300
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "server.log").read_text()[-2000:]
            assert time.monotonic() < deadline
            time.sleep(0.25)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.uri}/health", timeout=2).ok
        except requests.RequestException:
            return False

    def runs(self) -> list[Any]:
        from mlflow import MlflowClient

        client = MlflowClient(tracking_uri=self.uri)
        experiment = client.get_experiment_by_name("gossipgan")
        return [] if experiment is None else list(client.search_runs([experiment.experiment_id]))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir()
    server = Server(folder)
    server.start()
    yield server
    server.kill()


def test_a_server_that_dies_in_mid_sweep_changes_nothing_and_is_filled_again(
    for_sweeps: Path, tmp_path: Path, server: Server
) -> None:
    folder = for_sweeps
    for name in ("alone", "small"):
        write(folder, name, RANDOM + "budget: {trials: 2}\n")
    run("gossipgan sweep run sweeps/alone.yaml", folder)
    assert server.runs() == []

    (folder / "params.yaml").write_text(PARAMS.replace("mlflow: false", f"uri: '{server.uri}'"))
    process = start("gossipgan sweep run sweeps/small.yaml", folder)
    wait_until(lambda: any(one.info.status == "RUNNING" for one in server.runs()), process, every=0.5)
    server.kill()
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0
    assert errors.count("\n") == 1
    assert errors.startswith(f"warning: MLflow at {server.uri}: not written: ")
    assert errors.endswith("gossipgan sweep sync small fills it again\n")
    outcome = [(one.state, one.settings, one.score) for one in trials_of(folder, "small")]
    assert outcome == [(one.state, one.settings, one.score) for one in trials_of(folder, "alone")]
    assert [one[0] for one in outcome] == ["ok", "ok"]

    server.start()
    assert "closed: " in run("gossipgan sweep sync small", folder).stdout
    shown = {one.info.run_id: one for one in server.runs()}
    names = sorted(one.info.run_name for one in shown.values())
    assert names == ["small", "small trial-0 seed 1", "small trial-1 seed 1", "trial-0", "trial-1"]
    assert {one.info.status for one in shown.values()} == {"FINISHED"}
    scores = {one.info.run_name: one.data.metrics.get("score") for one in shown.values()}
    assert [scores["trial-0"], scores["trial-1"]] == [one[2] for one in outcome]
    assert run("gossipgan sweep sync small", folder).stdout == "small: 0 trials written, 2 already there\n"
    assert {one.info.run_id for one in server.runs()} == shown.keys()
