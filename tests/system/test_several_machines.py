"""A sweep on several machines: against a real PostgreSQL server, and as jobs of a real Slurm of one node."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gossipgan.config import load_params
from gossipgan.sweeps import StudyStorage, SweepView, load_sweep, view
from gossipgan.sweeps.processes import Nursery
from gossipgan.sweeps.study import choose_study, claim

from .conftest import environment
from .services import Postgresql, ask, require, slurm, wait_for
from .sweeping import PARAMS, RANDOM, gone, has_checkpoint, processes, wait_until, write

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes as Linux shows them"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgresql]:
    started = Postgresql()
    yield started
    started.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with slurm(tmp_path_factory.mktemp("slurm")) as configuration:
        yield configuration


@pytest.fixture
def folder(for_sweeps: Path) -> Path:
    return for_sweeps


#: Starts a command in a folder, with variables; given as words or as a line of them.
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(command: str | list[str], folder: Path, **variables: str) -> "subprocess.Popen[str]":
        started.append(
            subprocess.Popen(
                command.split() if isinstance(command, str) else command,
                cwd=folder,
                env={**environment(), **variables},
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        )
        return started[-1]

    yield begin
    for one in started:  # of a test that has failed
        one.kill()
        one.wait()


def _view(url: str, folder: Path) -> SweepView:
    with closing(StudyStorage(url, create=False)) as storage:
        return view(storage, "small", folder / "work" / "sweeps")


def _seconds(folder: Path, trial: str) -> list[float]:
    """A run's clock: it goes back where a run was begun anew."""
    lines = (folder / "work/sweeps/small" / trial / "seed-1/clock.jsonl").read_text().splitlines()
    return [json.loads(line)["seconds"] for line in lines]


def _take_all(request: dict[str, Any]) -> int:
    """Use a storage for the first time, beside others, and take trials until there are none."""
    root = Path(request["root"])
    sweep = load_sweep(root / "sweeps/small.yaml", load_params(root / "params.yaml"))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = StudyStorage(request["url"], create=True)
    storage.patiently(lambda: choose_study(storage, sweep, "digest", ["fid_digits_100_ema"], fork=False))
    (root / f"opened-{os.getpid()}").touch()
    wait_for(lambda: len(list(root.glob("opened-*"))) == 4, "not all have come so far")
    while (taken := claim(storage, sweep, "small", request["trials"], "digest")) is not None:
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, float(taken.settings.lookahead.k))
    return 0


def test_the_budget_is_exact_from_first_use_on_while_the_server_is_restarted(
    server: Postgresql, tmp_path: Path
) -> None:
    (tmp_path / "params.yaml").write_text(PARAMS)
    write(tmp_path, "small", RANDOM + "budget: {trials: 30}\n")
    url = server.make_database("budget")
    nursery = Nursery(lambda: None, _take_all)
    made = {nursery.spawn({"root": str(tmp_path), "url": url, "trials": 30}) for _ in range(4)}
    ended: dict[int, int] = {}

    def begun() -> bool:
        ended.update(nursery.ended(0.1))
        try:
            return len(_view(url, tmp_path).trials) >= 3
        except Exception:  # noqa: BLE001 - there is no table, no study yet
            return False

    wait_for(begun, "nothing is taken")
    server.stop()
    assert not ended, "ended before the restart"
    server.start()
    while ended.keys() != made:
        ended.update(nursery.ended(1.0))
    nursery.close()
    assert list(ended.values()) == [0] * 4
    trials = _view(url, tmp_path).trials
    # A trial that was made while the server went down may wait, untouched; it is none of the budget.
    assert [one.state for one in trials if one.state != "waiting"] == ["ok"] * 30
    assert len({json.dumps(one.settings) for one in trials if one.state == "ok"}) == 30


def test_two_hosts_lose_nothing_whoever_is_killed(
    server: Postgresql, start: Start, folder: Path, tmp_path: Path
) -> None:
    url = server.make_database("hosts")
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    text = RANDOM.replace("space:", "space:\n  training.steps: 60") + "budget: {trials: 5}\n"
    for one in (folder, other):
        write(one, "small", text)
    require("unshare")
    # Another host by name, as the kernel tells it.
    as_root = () if os.geteuid() == 0 else ("--map-root-user",)
    work = ["unshare", "--uts", *as_root, "sh", "-c", "hostname elsewhere && exec gossipgan sweep work small"]
    assert "no sweeps yet" in _fails("gossipgan sweep work small", other, url)

    first = start("gossipgan sweep run sweeps/small.yaml --workers 2", folder, GOSSIPGAN_STORAGE=url)
    wait_until(has_checkpoint(folder, "trial-0"), first)
    (worker,) = processes(folder, "worker-0.log")
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: set(processes(folder, "worker-0.log")) - {worker}, first)
    first.kill()
    first.communicate()
    assert gone(folder)
    second = start(work, other, GOSSIPGAN_STORAGE=url)
    wait_until(lambda: list(other.glob("work/sweeps/small/trial-*/seed-1/checkpoints/step-*")), second)
    second.terminate()
    out, _ = second.communicate(timeout=300)
    assert second.returncode == 0, out
    assert "stopped (terminated)" in out
    assert gone(other)

    second = start(work, other, GOSSIPGAN_STORAGE=url)
    run_again = start("gossipgan sweep resume small --workers 2", folder, GOSSIPGAN_STORAGE=url)
    wait_until(lambda: any(one.state == "running" for one in _view(url, folder).trials), run_again)
    server.stop()
    server.start()
    said = [one.communicate(timeout=600)[0] for one in (run_again, second)]
    assert (run_again.returncode, second.returncode) == (0, 0), said
    trials = _view(url, folder).trials
    assert [one.state for one in trials if one.state != "waiting"] == ["ok"] * 5
    assert len({json.dumps(one.settings) for one in trials if one.state == "ok"}) == 5
    assert gone(folder)
    assert gone(other)
    _holds_no_password([*said, out], folder, other)

    weights = other / "extractor" / "extractor.safetensors"
    with safe_open(weights, framework="pt") as file:
        header = file.metadata()
    tensors = load_file(weights)
    next(one for one in tensors.values() if one.is_floating_point()).add_(0.125)
    save_file(tensors, weights, metadata=header)
    summary = weights.with_name("extractor.json")
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    summary.write_text(json.dumps({**json.loads(summary.read_text()), "sha256": digest}))
    assert "another extractor" in _fails("gossipgan sweep work small", other, url)


def _fails(command: str, folder: Path, url: str) -> str:
    """What a command says that fails: one line."""
    done = subprocess.run(
        command.split(), cwd=folder, env={**environment(), "GOSSIPGAN_STORAGE": url}, text=True, capture_output=True
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1
    assert Postgresql.escaped not in done.stderr
    return done.stderr


def _holds_no_password(said: list[str], *folders: Path) -> None:
    for text in said:
        assert Postgresql.escaped not in text
        assert Postgresql.password not in text
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                assert Postgresql.escaped.encode() not in path.read_bytes(), path
                assert Postgresql.password.encode() not in path.read_bytes(), path


def test_jobs_of_a_cluster_are_requeued_found_again_and_do_exactly_the_budget(
    server: Postgresql, cluster: Path, start: Start, folder: Path
) -> None:
    url = server.make_database("jobs")
    write(folder, "small", RANDOM.replace("space:", "space:\n  training.steps: 60") + "budget: {trials: 4}\n")
    command = "gossipgan sweep run sweeps/small.yaml --launcher slurm --workers 2 --slurm partition=low"
    variables = {"GOSSIPGAN_STORAGE": url, "SLURM_CONF": str(cluster)}
    first = start(command, folder, **variables)
    wait_until(has_checkpoint(folder, "trial-0"), first)
    jobs = ask(cluster, "scontrol", "show", "job")
    scripts = "".join(path.read_text() for path in folder.glob("work/sweeps/small/slurm/*.sh"))
    assert "ArrayJobId" in jobs
    first.kill()
    out, _ = first.communicate()
    # Both processors for a job of a better partition: the workers lose theirs.
    ask(cluster, "srun", "--partition=high", "--ntasks=1", "--cpus-per-task=2", "true")
    again = start(command, folder, **variables)
    said, _ = again.communicate(timeout=600)
    assert again.returncode == 0, said
    assert "4 of 4: 4 ok" in said
    trials = _view(url, folder).trials
    assert [one.state for one in trials] == ["ok"] * 4
    assert len({json.dumps(one.settings) for one in trials}) == 4
    assert _seconds(folder, "trial-0") == sorted(_seconds(folder, "trial-0"))
    assert not ask(cluster, "squeue", "--noheader")
    logs = list(folder.glob("work/sweeps/small/slurm/*.out"))
    assert len(logs) == 2, "the jobs of the first start were not found again"
    _holds_no_password([jobs, scripts, out, said], folder)


def test_ctrl_c_cancels_the_jobs_and_puts_their_trials_back(cluster: Path, start: Start, folder: Path) -> None:
    write(folder, "small", RANDOM.replace("space:", "space:\n  training.steps: 400") + "budget: {trials: 1}\n")
    command = "gossipgan sweep run sweeps/small.yaml --launcher slurm"
    wide = subprocess.run(
        [*command.split(), "--slurm", "partition=wide"], cwd=folder, text=True, capture_output=True, check=False,
        env={**environment(), "SLURM_CONF": str(cluster)},
    )  # fmt: skip
    assert wide.returncode == 2
    assert "SQLite serves one machine" in wide.stderr
    process = start(command, folder, SLURM_CONF=str(cluster))
    wait_until(has_checkpoint(folder, "trial-0"), process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert not ask(cluster, "squeue", "--noheader")
    assert [one.state for one in _view(f"sqlite:///{folder / 'sweeps.db'}", folder).trials] == ["stopped"]
    assert gone(folder)
