"""A learner on a host: ``python -m gossipgan.network.learner SPECIFICATION``, and a line of JSON for each scheme.

Its exchanges are those of training, made by the code that training uses.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gossipgan.config import ERROR_FEEDBACK_WIRES
from gossipgan.errors import UserError
from gossipgan.mixing.centralized import AllReduce, Server
from gossipgan.mixing.decentralized import Decentralized
from gossipgan.mixing.gossip import ChocoGossip, Gossip
from gossipgan.mixing.group import Exchange, Group, OneProcess, Want
from gossipgan.mixing.processes import Processes
from gossipgan.mixing.topologies import build_schedule
from gossipgan.mixing.wires import build_wire
from gossipgan.network.hosts import INTERFACE
from gossipgan.network.schemes import TOPK, Scheme

#: CHOCO-gossip's consensus step size; times do not depend on it.
_GAMMA = 0.5


def main() -> None:
    """Measure what the specification says, together with the learners on other hosts; see ``run``."""
    try:
        for measured in run(json.loads(sys.argv[1])):
            sys.stdout.write(json.dumps(measured) + "\n")
            sys.stdout.flush()
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


def run(specification: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Make steps of all schemes.

    Args:
        specification: ``schemes`` (fields of each), ``parameters``, ``steps`` and ``timeout``.

    Yields:
        of each scheme, ``times`` when the steps began and the last one ended, seconds of a step's ``computing`` alone,
        and bytes ``sent`` and ``received`` a step.

    Raises:
        UserError: another host's process has ended, or is silent.
    """
    torch.set_num_threads(1)
    timeout = float(specification["timeout"])
    dist.init_process_group("gloo", timeout=timedelta(seconds=timeout))
    try:
        group = Processes(dist.get_world_size(), torch.device("cpu"), timeout)
        try:
            for scheme in specification["schemes"]:
                yield _measure(group, Scheme(*scheme), specification["parameters"], specification["steps"])
        finally:
            group.close()
    finally:
        dist.destroy_process_group()


def _measure(group: Processes, scheme: Scheme, parameters: int, steps: int) -> dict[str, Any]:
    step, warm_up = _build(group, scheme, parameters)
    for number in range(warm_up):
        step(number)
    group.barrier()
    before = _traffic()
    times = [time.monotonic()]
    for number in range(warm_up, warm_up + steps):
        step(number)
        times.append(time.monotonic())
    group.barrier()
    sent, received = (after - earlier for after, earlier in zip(_traffic(), before, strict=True))
    computing = _time_alone(_build(_Instantly(group), scheme, parameters)[0], steps)
    group.barrier()
    return {"times": times, "computing": computing, "sent": sent / steps, "received": received / steps}


def _time_alone(step: Callable[[int], None], steps: int) -> float:
    """Seconds on a processor, a step."""
    step(0)
    began = time.thread_time()
    for number in range(steps):
        step(number)
    return (time.thread_time() - began) / steps


def _build(group: Group, scheme: Scheme, parameters: int) -> tuple[Callable[[int], None], int]:
    """A step of the exchange that training makes, by its number from 0; and after how many all connections are open."""
    mine = group.local.start
    vector = torch.randn(parameters, generator=torch.Generator().manual_seed(mine))
    if scheme.kind != "gossip":
        centralized = AllReduce(group) if scheme.kind == "all-reduce" else Server(group)
        return (lambda number: centralized.gradients({mine: [vector]})), 2
    schedule = build_schedule(str(scheme.topology), group.learners)
    wire = build_wire(scheme.wire, parameters, TOPK)
    gossip = (
        ChocoGossip(group, schedule, 1, wire, torch.zeros(parameters), _GAMMA)
        if scheme.wire in ERROR_FEEDBACK_WIRES
        else Gossip(group, schedule, 1, wire)
    )
    mixing = Decentralized([(("players",), gossip)], period=1)
    return (lambda number: mixing.weights(number + 1, {"players": {mine: [vector]}})), max(2, schedule.period or 0)


class _Instantly(OneProcess):
    """A network that takes no time: whoever a learner hears from has sent what it sends itself."""

    def __init__(self, group: Group) -> None:
        super().__init__(group.learners)
        self.local = group.local

    def exchange(self, messages: Mapping[int, Tensor], wants: Iterable[Want]) -> Exchange:
        (mine,) = messages.values()
        return super().exchange(dict.fromkeys(range(self.learners), mine), wants)

    def gather(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        return list(tensors) * self.learners


def _traffic() -> tuple[int, int]:
    """Bytes that this host has sent and received, packets' headers included."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == INTERFACE:
            numbers = counters.split()
            return int(numbers[8]), int(numbers[0])
    raise AssertionError(f"this host has no {INTERFACE}")


if __name__ == "__main__":
    main()
