"""Workers as jobs of a Slurm cluster: a job array, submitted through submitit, of which each job is ``sweep work``.

Slurm sends SIGTERM to every process of a job before it takes the job's node away, be it for pre-emption, ``scontrol
requeue`` or ``scancel``: the worker puts its trial back, and a job that was pre-empted is requeued by Slurm. Before a
job's time limit comes SIGUSR2, and the job requeues itself. The project's folder must be on a file system that all
nodes share.

The storage's URL goes to the jobs in their environment (GOSSIPGAN_STORAGE), never on a command line, and stands in no
file. Jobs are found again by their name, which is of the study and its storage.
"""

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from gossipgan.errors import UserError
from gossipgan.sweeps.study import StudyStorage, shown

#: Where a worker finds its storage.
STORAGE_VARIABLE = "GOSSIPGAN_STORAGE"

#: Seconds between looks at the queue.
_LOOK = 2.0
#: Seconds that jobs have to put their trials back when the sweep is stopped; Slurm kills them after its KillWait.
_GRACE = 120.0
#: Seconds before a job's time limit at which it puts its trial back.
_BEFORE_LIMIT = 90

#: Options of sbatch that are the launcher's own.
_OWN = ("array", "error", "job_name", "no_requeue", "open_mode", "output", "requeue", "signal")


class SlurmWorker:
    """What a job runs: the worker as a process of its own, and the job's requeueing at its time limit."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)

    def __call__(self) -> None:
        time_is_up = False

        def put_back(number: int, frame: FrameType | None) -> None:
            nonlocal time_is_up
            time_is_up = True
            process.terminate()

        # The worker's trials are no tasks of the job: they are not to find the job's ranks.
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "PMI"))}
        process = subprocess.Popen(self._command, env=environment, preexec_fn=_leave_time_limit_to_parent)
        signal.signal(signal.SIGUSR2, put_back)
        status = process.wait()
        if time_is_up:
            subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]], check=True)
        elif status != 0:
            raise RuntimeError(f"gossipgan sweep work: exit status {status}; what it said stands beside, in the log")


class SlurmWorkers:
    """The workers of one study in a cluster's queue, those of an earlier start included.

    Args:
        study: its name.
        url: of its storage.
        folder: where submitit keeps scripts and logs; on a file system that all nodes share.
        command: the worker's.
        settings: sbatch's options by name, such as partition or gpus-per-node.
        count: how many there are to be at a time.
    """

    def __init__(
        self, study: str, url: str, folder: Path, command: Sequence[str], settings: Mapping[str, str], count: int
    ) -> None:
        self._url = url
        self._folder = folder
        self._command = list(command)
        self._settings = {key.replace("-", "_"): value for key, value in settings.items()}
        self._count = count
        self._name = f"gossipgan-{study}-{hashlib.sha256(shown(url).encode()).hexdigest()[:8]}"
        self._living = 0
        self._living = self._queued()

    @property
    def living(self) -> int:
        """How many are in the queue, waiting or running."""
        return self._living

    def start(self) -> int:
        """As many as are missing; returns how many these were."""
        missing = self._count - self._living
        if missing > 0:
            self._submit(missing)
            self._living += missing
        return max(0, missing)

    def look(self, seconds: float) -> bool:
        """Wait a while for news; whether a worker has left the queue."""
        time.sleep(max(seconds, _LOOK))
        before, self._living = self._living, self._queued()
        return self._living < before

    def stop(self) -> None:
        """Cancel the jobs, so that every worker puts its trial back, and wait for them."""
        self.kill()
        deadline = time.monotonic() + _GRACE
        while self._queued() and time.monotonic() < deadline:
            time.sleep(_LOOK)
        self._living = 0

    def kill(self) -> None:
        """Cancel the jobs and wait for nothing; Slurm kills those that don't end."""
        _slurm("scancel", "--me", f"--name={self._name}")

    def _queued(self) -> int:
        listed = _slurm("squeue", "--me", f"--name={self._name}", "--array", "--noheader", "--format=%i")
        return self._living if listed is None else len(listed.split())

    def _submit(self, count: int) -> None:
        import submitit

        os.environ[STORAGE_VARIABLE] = self._url  # jobs have their submitter's environment
        self._folder.mkdir(parents=True, exist_ok=True)
        executor = submitit.SlurmExecutor(self._folder)
        executor.update_parameters(
            job_name=self._name,
            signal_delay_s=_BEFORE_LIMIT,
            time=None,  # the partition's, unless it is among the settings
            stderr_to_stdout=True,
            srun_args=[f"--cpus-per-task={self._settings['cpus_per_task']}"]
            if "cpus_per_task" in self._settings
            else [],
            additional_parameters={"requeue": True, "export": "ALL", **self._settings},
        )
        try:
            with executor.batch():
                for _ in range(count):
                    executor.submit(SlurmWorker(self._command))
        except (submitit.core.utils.FailedJobError, OSError) as error:
            lines = [line.strip() for line in str(error).splitlines() if "sbatch" in line and "error" in line]
            raise UserError(f"--launcher slurm: {lines[-1] if lines else str(error).strip()}") from None


def check_slurm(settings: Mapping[str, str]) -> None:
    """See that jobs can be submitted from here, with these options of sbatch.

    Raises:
        UserError: an option is the launcher's own, Slurm's commands are not here, or submitit is not.
    """
    for key in settings:
        if key.replace("-", "_") in _OWN:
            raise UserError(f"--slurm {key}: is the launcher's own")
    try:
        import submitit  # noqa: F401
    except ImportError:
        raise UserError('--launcher slurm: submitit is not there; pip install "gossipgan[slurm]" installs it') from None
    for command in ("sbatch", "squeue", "scancel", "sinfo"):
        if shutil.which(command) is None:
            raise UserError(f"--launcher slurm: {command} is not here; begin the sweep where jobs are submitted")


def check_shared(storage: StudyStorage, partition: str | None) -> None:
    """See that every node can reach a storage: SQLite's locks are of one machine.

    Raises:
        UserError: SQLite, and a node that is not this machine.
    """
    if not storage.one_machine:
        return
    partition = partition or os.environ.get("SBATCH_PARTITION")
    where = () if partition is None else (f"--partition={partition}",)
    listed = (_slurm("sinfo", "--noheader", "--Node", "--format=%n %P", *where) or "").splitlines()
    # A star marks the partition of jobs that name none.
    nodes = {line.split()[0] for line in listed if partition is not None or line.rstrip().endswith("*")}
    others = nodes - {socket.gethostname(), socket.gethostname().partition(".")[0]}
    if others:
        raise UserError(
            f"--launcher slurm: SQLite serves one machine, and jobs may run on {len(others)} others "
            f"({min(others)}, ...); give --storage postgresql+psycopg://USER@HOST/NAME"
        )


def _leave_time_limit_to_parent() -> None:
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)


def _slurm(*command: str) -> str | None:
    """What one of Slurm's commands prints; None where the controller does not answer."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None
