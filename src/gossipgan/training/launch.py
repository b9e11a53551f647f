"""Processes of one run: started here by torch's elastic launcher, or found in torchrun's or Slurm's environment."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist

from gossipgan.config import Settings
from gossipgan.errors import UserError
from gossipgan.mixing.elastic import Elastic
from gossipgan.mixing.group import Group, OneProcess
from gossipgan.mixing.membership import Membership
from gossipgan.mixing.processes import Processes

#: First of the ports that Slurm jobs meet on; the job's number is added.
_SLURM_PORTS = 20_000


def in_process_group() -> bool:
    """Whether torchrun, or Slurm's srun, started this process as one of several of a run."""
    _adopt_slurm()
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def local_device(device: torch.device) -> torch.device:
    """On a host with several processes, the GPU of this one."""
    chosen: int | None = device.index
    if device.type != "cuda" or chosen is not None:
        return device
    index = int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count()
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


@contextmanager
def joined(settings: Settings, device: torch.device, agreement: str, learners: int | None = None) -> Iterator[Group]:
    """The learners of a run, over the processes it was started with.

    Args:
        settings: ``mixing`` is read.
        device: of this process's learners.
        agreement: what all processes must agree on; any text.
        learners: that are left of the run's; None: all.

    Raises:
        UserError: fewer learners than processes; or the processes were given different things; or they are to go on
            when one of them dies, and cannot.
    """
    learners = settings.mixing.learners if learners is None else learners
    if not in_process_group():
        yield OneProcess(learners)
        return
    if settings.mixing.on_loss == "rewire":
        with _joined_for_life(learners, device) as survivors:
            yield survivors
        return
    timeout = timedelta(seconds=settings.mixing.timeout)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timeout)
    try:
        group = Processes(learners, device, settings.mixing.timeout)
        try:
            group.check_agreement(agreement)
            yield group
        finally:
            group.close()
    finally:
        dist.destroy_process_group()


@contextmanager
def _joined_for_life(learners: int, device: torch.device) -> Iterator[Group]:
    check_rewirable(device)
    membership = Membership.inherited()
    if membership is None:
        raise UserError(
            "mixing.on_loss: rewire needs processes that gossipgan starts itself, with --processes, on one host: "
            "torchrun ends all when one dies, and srun does not say who is left; use stop there"
        )
    group = Elastic(learners, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), membership)
    try:
        yield group
    finally:
        group.close()


def check_rewirable(device: torch.device) -> None:
    """Refuse devices over whose transport a group cannot go on without one of its processes.

    Raises:
        UserError: it is a GPU.
    """
    if device.type == "cuda":
        raise UserError(
            "mixing.on_loss: rewire is for processes on CPUs: NCCL's calls end with a process that dies; use stop, or "
            "training.device: cpu"
        )


def launch(processes: int, arguments: Sequence[str], restarts: int) -> None:
    """Run ``python -m gossipgan`` with these arguments in several processes on this host, and wait for them.

    When one of them dies the others are stopped, and all start again from the last checkpoint.

    Args:
        processes: how many, at least 1.
        arguments: of each of them.
        restarts: how often they may start again.

    Raises:
        UserError: they failed once more than ``restarts``; in one line that names the process.
    """
    # Heavy, and of use to the launching process alone.
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id="gossipgan",
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=restarts,
        monitor_interval=0.2,
    )
    # Otherwise processes that start again would find the addresses of those before them in the store.
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    try:
        elastic_launch(config, sys.executable)("-m", "gossipgan", *arguments)
    except ChildFailedError as failed:
        rank, failure = failed.get_first_failure()
        raise stopped(rank, processes, how_it_ended(failure.exitcode)) from None


def how_it_ended(status: int) -> str:
    """A process's exit status in words: negative, the signal that ended it."""
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def stopped(rank: int, processes: int, how: str) -> UserError:
    """What is said of a run that a process has stopped."""
    return UserError(
        f"process {rank} of {processes} {how}, and the run was stopped; the same command goes on from the last "
        "checkpoint"
    )


def _adopt_slurm() -> None:
    """Say in torchrun's words what srun says in its own, where srun started several processes."""
    found = os.environ
    if "RANK" in found or int(found.get("SLURM_NTASKS", "1")) < 2 or "SLURM_PROCID" not in found:
        return
    if "SLURM_STEP_ID" not in found:  # the batch script itself is no task of a step
        return
    found["RANK"], found["WORLD_SIZE"] = found["SLURM_PROCID"], found["SLURM_NTASKS"]
    found["LOCAL_RANK"] = found.get("SLURM_LOCALID", "0")
    found.setdefault("MASTER_ADDR", _first_host(found.get("SLURM_STEP_NODELIST", "localhost")))
    found.setdefault("MASTER_PORT", str(_SLURM_PORTS + int(found.get("SLURM_JOB_ID", "0")) % 20_000))


def _first_host(nodes: str) -> str:
    """The first of Slurm's list of hosts, such as ``node[03-05,09]``."""
    if not re.search(r"[\[,]", nodes):
        return nodes
    listed = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True)
    return listed.stdout.split()[0]
