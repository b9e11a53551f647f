"""Whom a straggler slows, by how much and after how many steps: gossip, stale gossip and all-reduce.

    python benchmarks/straggler.py [--learners 8] [--step 0.5] [--pause 6] [--slow 4] [--steps 16] [--repeats 3]

Every learner is a process, and exchanges by the code that training uses. A step's computing is a sleep of ``--step``
seconds, so that learners do not compete for the processors. Times are in units of that: all numbers are ratios within
one run, and medians over its repeats. Two stragglers are tried, both learner 0: one that pauses once, for ``--pause``
steps' time, and one that is ``--slow`` times as slow from then on.
"""

import argparse
import itertools
import json
import os
import socket
import statistics
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from gossipgan.mixing import build_schedule
from gossipgan.mixing.centralized import AllReduce
from gossipgan.mixing.decentralized import Decentralized
from gossipgan.mixing.gossip import Gossip, StaleGossip
from gossipgan.mixing.processes import Processes
from gossipgan.mixing.wires import Float32

#: When each learner ended each step, in seconds; by straggler, scheme and learner.
Ends = dict[str, dict[str, list[list[float]]]]

SCHEMES = ("gossip, ring", "stale gossip, ring", "all-reduce")

#: Float32 numbers of a learner: few, so that a step is computing.
PARAMETERS = 20_000

#: Step in which the pause falls; the steps before it say what is normal.
PAUSED = 6

#: Seconds that processes wait for each other.
PATIENCE = 300.0


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", type=int, default=8)
    parser.add_argument("--step", type=float, default=0.5, help="seconds of computing in a step")
    parser.add_argument("--pause", type=float, default=6.0, help="steps' time that the straggler pauses for")
    parser.add_argument("--slow", type=float, default=4.0, help="how much slower the lasting straggler is")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write all times there")
    chosen = parser.parse_args()
    repeats = [measure(chosen) for _ in range(chosen.repeats)]
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({**vars(chosen), "json": None, "paused": PAUSED, "ends": repeats}) + "\n")
    report(repeats, chosen)


def measure(chosen: argparse.Namespace) -> Ends:
    """One repeat, in processes of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    reader, writer = os.pipe()
    children = []
    for rank in range(chosen.learners):  # forked, as everything is imported here already
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.environ.update(
                    RANK=str(rank), WORLD_SIZE=str(chosen.learners), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
                )
                found = learner(rank, chosen)
                if rank == 0:
                    with os.fdopen(writer, "w") as pipe:
                        json.dump(found, pipe)
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        children.append(child)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses):
        sys.exit(f"learners ended with {statuses}")
    measured: Ends = json.loads(text)
    return measured


def learner(rank: int, chosen: argparse.Namespace) -> Ends:
    """One learner's part; at learner 0 everybody's times come out."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENCE))
    group = Processes(dist.get_world_size(), torch.device("cpu"), PATIENCE)

    def computing(straggler: str, step: int) -> float:
        factor = 1.0
        if rank == 0 and straggler == "pauses" and step == PAUSED:
            factor += chosen.pause
        if rank == 0 and straggler == "slow" and step >= PAUSED:
            factor = chosen.slow
        return float(chosen.step * factor)

    found: Ends = {}
    for straggler in ("pauses", "slow"):
        for scheme in SCHEMES:
            exchange = build(scheme, group, rank)
            exchange(0)  # opens the connections
            exchange(1)
            group.barrier()
            ends = [time.monotonic()]
            for step in range(1, chosen.steps + 1):
                time.sleep(computing(straggler, step))
                exchange(step + 1)
                ends.append(time.monotonic())
            group.barrier()
            everybody = group.gather([torch.tensor(ends, dtype=torch.float64)])
            found.setdefault(straggler, {})[scheme] = [one.tolist() for one in everybody]
    group.close()
    dist.destroy_process_group()
    return found


def build(scheme: str, group: Processes, rank: int) -> Callable[[int], Any]:
    """A step's exchange, by its number from 0."""
    vector = torch.randn(PARAMETERS, generator=torch.Generator().manual_seed(rank))
    if scheme == "all-reduce":
        centralized = AllReduce(group)
        return lambda number: centralized.gradients({rank: [vector]})
    schedule = build_schedule("ring", group.learners)
    gossip = (
        StaleGossip(group, schedule, Float32()) if scheme.startswith("stale") else Gossip(group, schedule, 1, Float32())
    )
    mixing = Decentralized([(("players",), gossip)], period=1)
    return lambda number: mixing.weights(number + 1, {"players": {rank: [vector]}})


def late(ends: list[list[float]], learner: int, seconds: float) -> list[float]:
    """By how much each step ended later than it would have without a straggler, in steps' computing time.

    What is normal is the median of all learners' steps before the straggler's first long one.
    """
    normal = statistics.median(after - before for one in ends for before, after in itertools.pairwise(one[:PAUSED]))
    start = ends[learner][PAUSED - 1]
    return [(end - start - (step - PAUSED + 1) * normal) / seconds for step, end in enumerate(ends[learner])]


def taken(ends: list[list[float]], learner: int, seconds: float) -> list[float]:
    """How long each step took, from 1 on, in steps' computing time; 0 stands before the first."""
    return [0.0, *((after - before) / seconds for before, after in itertools.pairwise(ends[learner]))]


def by_distance(
    repeats: list[Ends],
    straggler: str,
    scheme: str,
    learners: int,
    look: Callable[[list[list[float]], int], list[float]],
) -> list[list[float]]:
    """Medians over repeats, and over the two learners at a distance, for each distance from the straggler and step."""
    found = []
    for distance in range(learners // 2 + 1):
        several = [
            look(ends[straggler][scheme], number) for ends in repeats for number in {distance, -distance % learners}
        ]
        found.append([statistics.median(column) for column in zip(*several, strict=True)])
    return found


def report(repeats: list[Ends], chosen: argparse.Namespace) -> None:
    """Two tables, in Markdown."""
    learners, seconds = chosen.learners, chosen.step
    shown = range(PAUSED, PAUSED + learners // 2 + 2)
    heads = " | ".join(f"step {step}" for step in shown)
    line = "|---|---|" + "---|" * (len(shown) + 1)
    print(f"{learners} learners on a ring, {seconds:g} s of computing a step. Medians of {chosen.repeats} repeats,")
    print("in steps' computing time, by distance from the straggler.")
    print(f"\nLearner 0 pauses for {chosen.pause:g} steps' time in step {PAUSED}: how late steps end\n")
    print(f"| | distance | {heads} | the last |\n{line}")
    for scheme in SCHEMES:
        rows = by_distance(repeats, "pauses", scheme, learners, lambda ends, one: late(ends, one, seconds))
        for distance, row in enumerate(rows):
            cells = " | ".join(f"{row[step]:.1f}" for step in shown)
            print(f"| {scheme} | {distance} | {cells} | {row[-1]:.1f} |")
    print(f"\nLearner 0 is {chosen.slow:g} times as slow from step {PAUSED} on: how long steps take\n")
    print(f"| | distance | {heads} | last five, each |\n{line}")
    for scheme in SCHEMES:
        rows = by_distance(repeats, "slow", scheme, learners, lambda ends, one: taken(ends, one, seconds))
        for distance, row in enumerate(rows):
            cells = " | ".join(f"{row[step]:.1f}" for step in shown)
            print(f"| {scheme} | {distance} | {cells} | {statistics.fmean(row[-5:]):.1f} |")


if __name__ == "__main__":
    main()
