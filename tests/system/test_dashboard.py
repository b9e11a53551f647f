"""optuna-dashboard shows a sweep's study as it is."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from .conftest import BIN, environment, run
from .sweeping import RANDOM, look, write


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _get(url: str, server: "subprocess.Popen[bytes]") -> Any:
    deadline = time.monotonic() + 300
    while True:
        assert server.poll() is None, "ended too early"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.URLError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_optuna_dashboard_shows_the_trials_their_scores_and_what_was_searched(for_sweeps: Path) -> None:
    write(for_sweeps, "random", RANDOM + "budget: {trials: 3}\n")
    run("gossipgan sweep run sweeps/random.yaml", for_sweeps)
    scores = {trial.number: trial.score for trial in look(for_sweeps, "random").trials}
    port = _free_port()
    server = subprocess.Popen(
        [sys.executable, BIN / "optuna-dashboard", "sqlite:///sweeps.db", "--port", str(port), "--server", "wsgiref"],
        cwd=for_sweeps,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        studies = {
            one["study_name"]: one for one in _get(f"http://127.0.0.1:{port}/api/studies", server)["study_summaries"]
        }
        study = studies["random"]
        assert study["directions"] == ["minimize"]
        shown = _get(f"http://127.0.0.1:{port}/api/studies/{study['study_id']}?after=0", server)
        assert {trial["number"]: trial["values"] for trial in shown["trials"]} == {
            number: [score] for number, score in scores.items()
        }
        assert {trial["state"] for trial in shown["trials"]} == {"Complete"}
        assert {one["name"] for one in shown["union_search_space"]} == {
            "lookahead.k",
            "lookahead.alpha",
            "optimizer.generator.lr",
        }
    finally:
        server.terminate()
        server.wait()
