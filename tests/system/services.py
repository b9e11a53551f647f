"""Real servers for tests: PostgreSQL, and a Slurm of one node; started in a folder of their own, on free ports."""

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

#: What `initdb` and `slurmctld` are in Debian.
PACKAGES = "postgresql slurm-wlm munge"

#: Before a server's command: the kernel ends it with the tests, however these end.
WITH_TESTS = ("setpriv", "--pdeathsig", "KILL")


def require(*programs: str | None) -> None:
    """Skip where a server's programs are missing; with GOSSIPGAN_REQUIRE_SERVICES=1, as in CI, fail."""
    missing = [one for one in programs if one is None or shutil.which(one) is None]
    if missing:
        why = f"{missing[0] or 'initdb'} is not here; Debian has it in one of {PACKAGES}"
        if os.environ.get("GOSSIPGAN_REQUIRE_SERVICES") == "1":
            pytest.fail(why)
        pytest.skip(why)


def wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Postgresql:
    """A server that takes passwords only."""

    password = "s3cret@/:word"
    escaped = "s3cret%40%2F%3Aword"

    def __init__(self) -> None:
        found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), Path(shutil.which("initdb") or "").parent]
        programs = next((one for one in found if (one / "initdb").exists()), None)
        require(None if programs is None else str(programs / "initdb"))
        assert programs is not None
        self._bin = programs
        # Not among pytest's folders, which are for the tests' user alone.
        self._folder = folder = Path(tempfile.mkdtemp(prefix="gossipgan-postgresql-"))
        self._user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        (folder / "password").write_text(self.password)
        if self._user is not None:
            for one in (folder, folder / "password"):
                shutil.chown(one, self._user)
        self._call(
            "initdb", "-D", folder / "data", "-U", "me", f"--pwfile={folder / 'password'}", "--auth=scram-sha-256",
            "--no-sync", "--encoding=UTF8", "--locale=C",
        )  # fmt: skip
        self.port = free_port()
        self.start()

    def start(self) -> None:
        options = {"port": self.port, "listen_addresses": "127.0.0.1", "fsync": "off", "max_connections": "50"}
        self._server = subprocess.Popen(
            [
                *WITH_TESTS, str(self._bin / "postgres"), "-D", str(self._folder / "data"), "-k", str(self._folder),
                *(f"--{key}={value}" for key, value in options.items()),
            ],
            user=self._user,
            stderr=(self._folder / "log").open("a"),
        )  # fmt: skip
        wait_for(self._answers, "PostgreSQL does not start")

    def stop(self) -> None:
        """Fast, as Debian stops it: connections are dropped."""
        self._server.send_signal(signal.SIGINT)
        self._server.wait(300)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def make_database(self, name: str) -> str:
        """Its URL."""
        import psycopg

        with psycopg.connect(self._url("postgres", ""), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._url(name, "+psycopg")

    def _url(self, name: str, driver: str) -> str:
        return f"postgresql{driver}://me:{self.escaped}@127.0.0.1:{self.port}/{name}"

    def _answers(self) -> bool:
        assert self._server.poll() is None, (self._folder / "log").read_text()
        asked = ("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port))
        return subprocess.run([str(self._bin / asked[0]), *asked[1:]], check=False).returncode == 0

    def _call(self, program: str, *arguments: object) -> None:
        subprocess.run(
            [str(self._bin / program), *map(str, arguments)],
            user=self._user,
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )


#: Two partitions on the one node, of which the second pre-empts the first; and a node that is not there.
SLURM = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1,sched_interval=1
ReturnToService=2
KillWait=300
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
NodeName=elsewhere NodeAddr=127.0.0.1 Port={other_port} CPUs=2 State=DOWN
PartitionName=low Nodes={host} Default=YES PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes={host} PriorityTier=9 PreemptMode=OFF
PartitionName=wide Nodes={host},elsewhere PriorityTier=1
"""


@contextmanager
def slurm(folder: Path) -> Iterator[Path]:
    """A cluster that is this machine alone; its configuration, for SLURM_CONF."""
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons are to be started by root")
    require("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(parents=True, mode=0o755)
    key = folder / "munge" / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        SLURM.format(
            host=socket.gethostname().partition(".")[0],
            folder=folder,
            user=getpass.getuser(),
            controller_port=free_port(),
            node_port=free_port(),
            other_port=free_port(),
        )
    )
    files = {"key": "key-file", "socket": "socket", "pid": "pid-file", "log": "log-file", "seed": "seed-file"}
    daemons = [
        subprocess.Popen(
            [*WITH_TESTS, "munged", "--foreground", "--force"]
            + [f"--{option}={folder / 'munge' / name}" for name, option in files.items()],
            stderr=subprocess.DEVNULL,
        )
    ]
    try:
        wait_for((folder / "munge" / "socket").exists, "munged does not start")
        for program in ("slurmctld", "slurmd"):
            daemons.append(
                subprocess.Popen(
                    [*WITH_TESTS, program, "-D", "-f", str(configuration)],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        wait_for(
            lambda: "idle" in ask(configuration, "sinfo", "--noheader", "--partition=low", "--format=%t"),
            "Slurm's node is not ready",
        )
        yield configuration
        ask(configuration, "scancel", "--me")
        wait_for(lambda: not ask(configuration, "squeue", "--noheader"), "jobs don't end")
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(300)


def ask(configuration: Path, *command: str) -> str:
    """What one of Slurm's commands prints."""
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600).stdout
