"""The comparison of exchanges over a slow network: measured where this machine lets one, by a model elsewhere."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gossipgan.errors import UserError
from gossipgan.mixing.links import Link
from gossipgan.mixing.topologies import MOST_LEARNERS
from gossipgan.network.hosts import MOST_BANDWIDTH, MOST_HOSTS, Hosts, ImpossibleError
from gossipgan.network.measure import Measurement, measure
from gossipgan.network.model import CostModel
from gossipgan.network.schemes import Scheme, schemes

#: Sizes that the model is asked about.
SIZES = (8, 32, 128, 512, 2_048, 10_000)

#: Seconds that hosts wait for each other at least, and as many times the longest limit.
_PATIENCE, _LIMITS = 120.0, 5.0

#: Numbers of the largest model that is sent, and steps at most.
_MOST_PARAMETERS, _MOST_STEPS = 10**9, 10_000


@dataclass(frozen=True)
class Row:
    """One scheme; times are seconds a step.

    Attributes:
        bytes: through the busiest learner's link, one way; messages' own.
        limit: that the bytes take at least.
        modelled: by the plain model of the network.
        fitted: by the fitted one, and for computing what was measured.
        measured: on real hosts.
    """

    scheme: Scheme
    bytes: float
    limit: float
    modelled: float
    fitted: float | None
    measured: Measurement | None


@dataclass(frozen=True)
class Bench:
    """All that was found out.

    Attributes:
        learners: one a host.
        parameters: of a learner's players together, float32.
        link: of each host.
        steps: that were measured of each scheme.
        rows: schemes, in the order in which they are measured.
        obstacle: why nothing was measured; None where it was.
        delayed: whether the latency was there when it was measured.
        model: fitted to the measurements, with the link's latency if it was not there; plain without measurements.
    """

    learners: int
    parameters: int
    link: Link
    steps: int
    rows: Sequence[Row]
    obstacle: str | None
    delayed: bool
    model: CostModel

    def row(self, kind: str, topology: str | None = None, wire: str = "float32") -> Row:
        """Of one scheme."""
        return next(row for row in self.rows if row.scheme == Scheme(kind, topology, wire))  # type: ignore[arg-type]

    def predictions(self) -> list[tuple[Scheme, dict[int, float]]]:
        """Seconds a step by the model, by how many learners there are."""
        return [
            (row.scheme, {size: self.model.seconds(row.scheme.phases(size, self.parameters)) for size in SIZES})
            for row in self.rows
        ]

    def as_json(self) -> dict[str, Any]:
        """What JSON can hold of it: bytes, seconds, bits a second."""
        return {
            "learners": self.learners,
            "parameters": self.parameters,
            "link": asdict(self.link),
            "steps": self.steps,
            "measured": self.obstacle is None,
            "obstacle": self.obstacle,
            "latency_measured": self.delayed,
            "cores": os.cpu_count(),
            "schemes": [
                {
                    **asdict(row.scheme),
                    "bytes": row.bytes,
                    "limit": row.limit,
                    "modelled": row.modelled,
                    "fitted": row.fitted,
                    "measured": row.measured and {"mean": row.measured.mean, **asdict(row.measured)},
                }
                for row in self.rows
            ],
            "model": asdict(self.model),
            "predictions": [
                {**asdict(scheme), "seconds": {str(size): seconds for size, seconds in by_size.items()}}
                for scheme, by_size in self.predictions()
            ],
        }


def bench_network(
    learners: int,
    link: Link,
    parameters: int,
    steps: int,
    report: Callable[[str], None] = lambda text: None,
) -> Bench:
    """Measure all schemes on hosts of this machine, and fit the model; where there can be no hosts, the model alone.

    Args:
        learners: from 2; above ``MOST_HOSTS`` they are modelled alone.
        link: of each host.
        parameters: of a learner.
        steps: of each scheme.
        report: told what is being measured.

    Raises:
        UserError: a number out of range, or a process of a host ended.
    """
    for name, value, least, most in (
        ("learners", learners, 2, MOST_LEARNERS),
        ("parameters", parameters, 1, _MOST_PARAMETERS),
        ("steps", steps, 1, _MOST_STEPS),
    ):
        if not least <= value <= most:
            raise UserError(f"--{name} {value}: must be from {least} to {most:,}")
    chosen = schemes()
    measured: Sequence[Measurement | None] = [None] * len(chosen)
    obstacle, delayed, model = None, False, CostModel.of(link)
    try:
        found, delayed = _measured(learners, link, chosen, parameters, steps, report)
    except ImpossibleError as impossible:
        obstacle = str(impossible)
    else:
        measured = found
        phases = [scheme.phases(learners, parameters) for scheme in chosen]
        fitted = CostModel.fit(phases, [one.mean - one.computing for one in found], link.bandwidth)
        model = fitted if delayed else CostModel(fitted.latency + link.latency, fitted.bandwidth, fitted.contention)
    built = Link(link.bandwidth, link.latency if delayed or obstacle else 0.0)
    rows = []
    for scheme, one in zip(chosen, measured, strict=True):
        rows.append(
            Row(
                scheme,
                bytes=scheme.bytes(learners, parameters),
                limit=scheme.limit(learners, parameters, link.bandwidth),
                modelled=scheme.modelled(learners, parameters, built),
                fitted=None if one is None else one.computing + fitted.seconds(scheme.phases(learners, parameters)),
                measured=one,
            )
        )
    return Bench(learners, parameters, link, steps, rows, obstacle, delayed, model)


def _measured(
    learners: int,
    link: Link,
    chosen: Sequence[Scheme],
    parameters: int,
    steps: int,
    report: Callable[[str], None],
) -> tuple[list[Measurement], bool]:
    if learners > MOST_HOSTS:
        raise ImpossibleError(f"at most {MOST_HOSTS} hosts are built on one machine")
    if link.bandwidth > MOST_BANDWIDTH:
        raise ImpossibleError(f"links of more than {MOST_BANDWIDTH / 1e9:g} Gbit/s are faster than this machine")
    longest = max(scheme.limit(learners, parameters, link.bandwidth) for scheme in chosen)
    with Hosts(learners, link) as hosts:
        timeout = max(_PATIENCE, math.ceil(_LIMITS * longest))
        return measure(hosts, learners, chosen, parameters, steps, timeout, report), hosts.delayed
