"""Topologies by name: a new one is one function and one entry here."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gossipgan.errors import UserError
from gossipgan.mixing.schedule import Schedule
from gossipgan.mixing.topologies.custom import custom, learners_in
from gossipgan.mixing.topologies.exponential import exponential, one_peer_exponential, symmetric_exponential
from gossipgan.mixing.topologies.random import erdos_renyi, random_matching, random_regular, small_world
from gossipgan.mixing.topologies.request import Request
from gossipgan.mixing.topologies.standard import complete, grid, hypercube, line, ring, square_factors, star, torus
from gossipgan.mixing.weights import WEIGHTS

#: As many learners as a graph may have.
MOST_LEARNERS = 10_000

#: How learners are best placed in a picture.
Layout = Literal["circle", "line", "star", "lattice", "cube", "spring"]


@dataclass(frozen=True)
class Topology:
    """How a schedule is made, which options it has beside learners, weights and seed, and how it is drawn."""

    schedule: Callable[[Request], Schedule]
    layout: Layout
    options: frozenset[str] = frozenset()


TOPOLOGIES: dict[str, Topology] = {
    "ring": Topology(ring, "circle"),
    "line": Topology(line, "line"),
    "star": Topology(star, "star"),
    "complete": Topology(complete, "circle"),
    "grid": Topology(grid, "lattice"),
    "torus": Topology(torus, "lattice"),
    "hypercube": Topology(hypercube, "cube"),
    "exponential": Topology(exponential, "circle"),
    "symmetric-exponential": Topology(symmetric_exponential, "circle"),
    "one-peer-exponential": Topology(one_peer_exponential, "circle"),
    "random-matching": Topology(random_matching, "circle"),
    "random-regular": Topology(random_regular, "circle", frozenset({"degree"})),
    "erdos-renyi": Topology(erdos_renyi, "circle", frozenset({"probability"})),
    "small-world": Topology(small_world, "circle", frozenset({"degree", "probability"})),
    "custom": Topology(custom, "spring", frozenset({"file"})),
}


def build_schedule(
    topology: str,
    learners: int,
    *,
    weights: str = "auto",
    degree: int | None = None,
    probability: float | None = None,
    seed: int = 0,
    file: str | Path | None = None,
    symmetric_for: str | None = None,
) -> Schedule:
    """The mixing matrices of a topology, checked.

    Args:
        topology: a name in ``TOPOLOGIES``.
        learners: n, from 1 to 10,000.
        weights: ``uniform``, ``metropolis``, ``max-degree``, ``given`` (those of the file), or ``auto``: given in a
            file of weights, else uniform where all learners have equally many neighbours, else metropolis.
        degree: random-regular, small-world: neighbours of a learner.
        probability: erdos-renyi: of a link; small-world: of a link's being rewired.
        seed: of random graphs and matchings; others don't look at it.
        file: custom: a list of edges or a weight matrix.
        symmetric_for: a method whose W must be symmetric and the same in every round; named in the mistake's line.

    Raises:
        UserError: in one line: an unknown name, an option that doesn't fit, or a matrix that is not square, finite,
            nonnegative, doubly stochastic (to 1e-12), connected and aperiodic (over a period).
    """
    found = TOPOLOGIES.get(topology)
    if found is None:
        raise UserError(f"topology {topology!r}: unknown; allowed are {', '.join(TOPOLOGIES)}{_hint(topology)}")
    if weights not in WEIGHTS and weights not in ("auto", "given"):
        allowed = ", ".join(["auto", *WEIGHTS, "given"])
        raise UserError(f"{topology}: weights {weights!r}: unknown; allowed are {allowed}")
    if not 1 <= learners <= MOST_LEARNERS:
        raise UserError(f"{topology}: {learners} learners: must be from 1 to {MOST_LEARNERS:,}")
    for option, value in (("degree", degree), ("probability", probability), ("file", file)):
        if value is not None and option not in found.options:
            has = [name for name, other in TOPOLOGIES.items() if option in other.options]
            raise UserError(f"{topology}: has no {option}, which is for {' and '.join(has)}; leave it out")
    request = Request(topology, learners, weights, degree, probability, seed, None if file is None else Path(file))
    schedule = found.schedule(request)
    if symmetric_for is not None:
        schedule.require_symmetric(symmetric_for)
    return schedule


def _hint(name: str) -> str:
    close = difflib.get_close_matches(name, TOPOLOGIES, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


__all__ = ["MOST_LEARNERS", "TOPOLOGIES", "Layout", "Topology", "build_schedule", "learners_in", "square_factors"]
