"""Times of real exchanges between hosts."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import astuple, dataclass
from typing import IO, Any

from gossipgan.errors import UserError
from gossipgan.network.hosts import INTERFACE, Hosts
from gossipgan.network.schemes import Scheme

_PORT = 29_500

#: Seconds that processes have to end when one of them has.
_GRACE = 5.0


@dataclass(frozen=True)
class Measurement:
    """Of one scheme.

    Attributes:
        seconds: that each step took: from the end of the one before, at the last host, to its own.
        computing: seconds of a step's arithmetic, for the learners that share a core of this machine. A learner with a
            host of its own needs its share of them.
        sent: bytes a step of the host that sends most, packets' headers included.
        received: of the host that receives most.
    """

    seconds: tuple[float, ...]
    computing: float
    sent: float
    received: float

    @property
    def mean(self) -> float:
        """Seconds a step."""
        return sum(self.seconds) / len(self.seconds)


def measure(
    hosts: Hosts,
    learners: int,
    schemes: Sequence[Scheme],
    parameters: int,
    steps: int,
    timeout: float,
    report: Callable[[str], None] = lambda text: None,
) -> list[Measurement]:
    """Run a process with one learner on each host, and have them make steps of each scheme.

    Steps follow one another as in training, without a barrier between them.

    Args:
        hosts: that are open.
        learners: as many as there are hosts.
        schemes: in the order of the result.
        parameters: of a learner, float32.
        steps: of each scheme, after some that open the connections.
        timeout: seconds that hosts wait for each other.
        report: told what is being measured.

    Raises:
        UserError: a process ended before it was done.
    """
    specification = json.dumps(
        {
            "schemes": [astuple(scheme) for scheme in schemes],
            "parameters": parameters,
            "steps": steps,
            "timeout": timeout,
        }
    )
    with ExitStack() as stack:
        errors = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(learners)]
        processes = [
            hosts.start(
                learner,
                [sys.executable, "-m", "gossipgan.network.learner", specification],
                {
                    "RANK": str(learner),
                    "WORLD_SIZE": str(learners),
                    "LOCAL_RANK": "0",
                    "MASTER_ADDR": hosts.address(0),
                    "MASTER_PORT": str(_PORT),
                    "GLOO_SOCKET_IFNAME": INTERFACE,
                    "OMP_NUM_THREADS": "1",
                    "TORCH_CPP_LOG_LEVEL": "ERROR",
                },
                errors[learner],
            )
            for learner in range(learners)
        ]
        found: list[list[dict[str, Any]]] = []
        for index, scheme in enumerate(schemes):
            report("starting the processes" if index == 0 else f"{scheme.name}, {scheme.wire}")
            lines = [_line(process) for process in processes]
            if not all(lines):
                raise UserError(_first_to_end(processes, errors))
            found.append([json.loads(line) for line in lines])
    return [_measurement(of_hosts) for of_hosts in found]


def _line(process: "subprocess.Popen[str]") -> str:
    """The next line that a process writes; empty where it has ended."""
    assert process.stdout is not None
    return process.stdout.readline()


def _first_to_end(processes: Sequence["subprocess.Popen[str]"], errors: Sequence[IO[bytes]]) -> str:
    """What became of processes of which one has ended, and the others therefore, too."""
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    ended = [learner for learner, process in enumerate(processes) if process.returncode]
    # One that was killed is not to blame for those that missed it.
    learner = min(ended, key=lambda one: (processes[one].returncode > 0, one), default=0)
    status = processes[learner].returncode
    if status is None or status < 0:
        how = "does not end" if status is None else f"was ended by signal {-status}"
        return f"the process of learner {learner} {how}"
    errors[learner].seek(0)
    lines = errors[learner].read().decode(errors="replace").strip().splitlines()
    return f"the process of learner {learner} ended with status {status}: {lines[-1][:300] if lines else 'silently'}"


def _measurement(of_hosts: Sequence[dict[str, Any]]) -> Measurement:
    ends = [max(times) for times in zip(*(one["times"] for one in of_hosts), strict=True)]
    return Measurement(
        seconds=tuple(end - before for before, end in itertools.pairwise(ends)),
        computing=sum(one["computing"] for one in of_hosts) / min(len(of_hosts), len(os.sched_getaffinity(0))),
        sent=max(one["sent"] for one in of_hosts),
        received=max(one["received"] for one in of_hosts),
    )
