"""Matrices for what is left of a graph: Metropolis's on its links, connected, whoever was lost."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from gossipgan.mixing import Schedule, build_schedule
from gossipgan.mixing.arithmetic import consensus_distance, mean
from gossipgan.mixing.gossip import ChocoGossip, Gossip, StaleGossip
from gossipgan.mixing.group import OneProcess
from gossipgan.mixing.survivors import without
from gossipgan.mixing.wires import Float32, build_wire

LENGTH = 2000


def _metropolis(graph: nx.Graph, left: list[int]) -> np.ndarray:
    """By the formula, entry by entry."""
    w = np.zeros((len(left), len(left)))
    for (i, a), (j, b) in itertools.permutations(enumerate(left), 2):
        if graph.has_edge(a, b):
            w[i, j] = 1 / (1 + max(graph.degree[a], graph.degree[b]))
    return w + np.diag(1 - w.sum(axis=1))


@pytest.mark.parametrize(
    ("topology", "learners", "lost", "new"),
    [
        ("ring", 6, [3], []),  # a line of five is left
        ("ring", 6, [0, 3], [(1, 5), (2, 4)]),
        ("ring", 8, [2, 3, 6], [(1, 4), (5, 7)]),  # who hung together is gone round as one
        ("line", 5, [2], [(1, 3)]),
        ("line", 5, [0], []),
        ("star", 5, [0], [(1, 2), (2, 3), (3, 4), (1, 4)]),
        ("star", 5, [4], []),
        ("torus", 12, [5], []),
        ("complete", 4, [1, 2], []),
        ("ring", 4, [1, 2, 3], []),  # one is left
    ],
)
def test_survivors_keep_their_links_and_get_new_ones_only_where_they_fall_apart(
    topology: str, learners: int, lost: list[int], new: list[tuple[int, int]]
) -> None:
    whole = build_schedule(topology, learners)
    graph = nx.from_numpy_array(whole.at(0) > 0)
    graph.remove_edges_from(nx.selfloop_edges(graph))
    graph.remove_nodes_from(lost)
    graph.add_edges_from(new)
    left = without(whole, lost)
    assert left.learners == learners - len(lost)
    np.testing.assert_allclose(left.at(0), _metropolis(graph, sorted(graph.nodes)), rtol=0, atol=1e-15)


def _rounds(schedule: Schedule) -> list[np.ndarray]:
    return [schedule.at(number) for number in range(schedule.period or 12)]


@pytest.mark.parametrize(
    "topology",
    [
        *("ring", "line", "star", "grid", "torus", "hypercube", "exponential", "symmetric-exponential", "complete"),
        *("one-peer-exponential", "random-matching"),
    ],
)
def test_whoever_is_lost_the_survivors_agree_on_their_mean(topology: str) -> None:
    learners = 8
    whole = build_schedule(topology, learners)
    for count in (1, 2, 3):
        for lost in itertools.combinations(range(learners), count):
            left = without(whole, lost)
            product = np.eye(learners - count)
            for w in _rounds(left):
                np.testing.assert_allclose(w, w.T, atol=1e-15)
                np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-12)
                assert w.min() >= 0
                product = w @ product
            # Powers of a matrix that is connected and aperiodic go to 1/n everywhere.
            limit = np.linalg.matrix_power(product, 500)
            np.testing.assert_allclose(limit, 1 / (learners - count), atol=1e-6)


def test_the_order_of_the_losses_does_not_matter_and_nobody_lost_changes_nothing() -> None:
    whole = build_schedule("torus", 12)
    assert without(whole, [7, 2, 5]).digest == without(whole, [2, 5, 7]).digest
    assert without(whole, ()) is whole


def _vectors(learners: int) -> dict[int, Tensor]:
    draws = torch.Generator().manual_seed(3)
    return {i: torch.randn(LENGTH, generator=draws) for i in range(learners)}


def _make(kind: str, schedule: Schedule) -> Gossip:
    group = OneProcess(schedule.learners)
    if kind == "stale":
        return StaleGossip(group, schedule, Float32())
    if kind in ("int8", "topk"):
        return ChocoGossip(group, schedule, 1, build_wire(kind, LENGTH, 0.1), torch.zeros(LENGTH), gamma=0.3)
    return Gossip(group, schedule, 2, build_wire(kind, LENGTH, 0.1))


@pytest.mark.parametrize("kind", ["float32", "bf16", "fp16", "int8", "topk", "stale"])
def test_after_a_loss_mixing_keeps_the_survivors_mean_and_brings_them_to_it(kind: str) -> None:
    whole, lost = build_schedule("ring", 6), [3]
    before = _make(kind, whole)
    vectors = _vectors(6)
    for number in range(7):
        before.mix(number, vectors)
    saved = {i: {name: one.clone() for name, one in mine.items()} for i, mine in before.tensors().items()}

    left = [i for i in vectors if i not in lost]
    survivors = {place: vectors[i] for place, i in enumerate(left)}
    after = _make(kind, without(whole, lost))
    after.load({place: saved.get(i, {}) for place, i in enumerate(left)}, rewired=True)
    centre, distance = mean(list(survivors.values())), consensus_distance(list(survivors.values()))
    for number in range(7, 600):
        after.mix(number, survivors)
    torch.testing.assert_close(mean(list(survivors.values())), centre, rtol=0, atol=5e-6)
    # Without error feedback a rounding to 16 bits stays, of each number by its own size.
    rounding = {"bf16": 2**-8, "fp16": 2**-11}.get(kind, 0.0) * float(centre.norm())
    assert consensus_distance(list(survivors.values())) < 1e-4 * distance + rounding


def test_copies_of_choco_gossip_are_those_of_the_new_neighbours() -> None:
    # Koloskova et al. 2019: x_i += gamma sum_j W_ij (y_j - y_i). Where x is y there is nothing new to tell.
    whole, lost, gamma = build_schedule("ring", 6), [3, 0], 0.3
    before = _make("int8", whole)
    vectors = _vectors(6)
    for number in range(5):
        before.mix(number, vectors)
    saved = before.tensors()
    left = [i for i in vectors if i not in lost]
    schedule = without(whole, lost)
    known = torch.stack([saved[i]["known"] for i in left]).double()
    expected = torch.as_tensor(schedule.at(0)) @ known - known

    after = _make("int8", schedule)
    after.load({place: saved[i] for place, i in enumerate(left)}, rewired=True)
    pull = torch.stack([after.tensors()[place]["pull"] for place in range(len(left))]).double()
    torch.testing.assert_close(pull, expected, rtol=1e-5, atol=1e-6)
    assert after.bytes == 4 * 2 * 4 * LENGTH  # four learners tell two neighbours each, in full
    survivors = {place: saved[i]["known"].clone() for place, i in enumerate(left)}
    start = torch.stack(list(survivors.values())).double()
    after.mix(5, survivors)
    torch.testing.assert_close(
        torch.stack(list(survivors.values())).double(), start + gamma * expected, rtol=1e-5, atol=1e-6
    )
