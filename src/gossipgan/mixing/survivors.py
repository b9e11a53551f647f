"""Mixing matrices for what is left of the learners of a graph.

A graph is the given one without the lost learners: the survivors keep their links to one another, all of them taken
both ways. Where that falls apart (a star without its centre, a line without an inner learner), the neighbours of the
lost are joined in a cycle: for every group of lost learners that hung together, the survivors that had a link into it,
in ascending order. Then the graph is connected if the given one was: a way between survivors that led through a group
entered and left it by two of these. A ring becomes a line, whose ends stay ends.

Weights are Metropolis's, whatever they were before: these are symmetric and doubly stochastic on every such graph, so
that the survivors' mean is kept. A period keeps its length. Random matchings are drawn among the survivors anew. All of
this depends on who has been lost alone, and not on the order in which they were.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gossipgan.mixing.graph import Graph
from gossipgan.mixing.schedule import Matchings, Periodic, Schedule
from gossipgan.mixing.weights import metropolis


def without(schedule: Schedule, lost: Collection[int]) -> Schedule:
    """The schedule of the learners that are left, numbered from 0 in their order; nobody lost: the one that is given.

    Args:
        schedule: of all learners.
        lost: numbers of those that are not there any more; not all of them.
    """
    if not lost:
        return schedule
    left = np.array([learner for learner in range(schedule.learners) if learner not in lost])
    if isinstance(schedule, Matchings):
        return Matchings(len(left), schedule.seed)
    assert schedule.period is not None
    links = [_links(schedule.matrix(number)) for number in range(schedule.period)]
    union = csr_array(sum(links[1:], start=links[0]))
    joins = []
    if connected_components(union[left][:, left], directed=False)[0] > 1:
        joins = _joins(union, sorted(lost))
    place = {int(learner): number for number, learner in enumerate(left)}
    graphs = []
    for one in links:
        receivers, senders = one[left][:, left].nonzero()
        edges = [*zip(receivers.tolist(), senders.tolist(), strict=True), *((place[a], place[b]) for a, b in joins)]
        graphs.append(Graph.undirected(len(left), edges))
    where = f"{schedule.topology} without {', '.join(map(str, sorted(lost)))}"
    return Periodic(schedule.topology, "metropolis", [metropolis(graph, where) for graph in graphs], where)


def _links(matrix: csr_array) -> csr_array:
    """Ones where two learners hear from each other, or one from the other; shape (learners, learners)."""
    rows, columns = matrix.nonzero()
    return Graph.undirected(matrix.shape[0], zip(rows.tolist(), columns.tolist(), strict=True)).hears


def _joins(links: csr_array, lost: list[int]) -> list[tuple[int, int]]:
    """New links: cycles through the surviving neighbours of each group of lost learners."""
    groups, group = connected_components(links[lost][:, lost], directed=False)
    joins = []
    for number in range(groups):
        members: NDArray[np.int64] = np.array(lost)[group == number]
        around = sorted(set(links[members].nonzero()[1].tolist()) - set(lost))
        joins += list(zip(around, [*around[1:], *around[:1]], strict=True))
    return joins
