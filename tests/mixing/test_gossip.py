"""Gossip of every kind against dense matrices, and what each must leave as it was."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from gossipgan.mixing import build_schedule
from gossipgan.mixing.arithmetic import consensus_distance, mean, weighted_sum
from gossipgan.mixing.gossip import ChocoGossip, Gossip, StaleGossip
from gossipgan.mixing.group import OneProcess
from gossipgan.mixing.wires import Float32, build_wire

LENGTH = 5000


def _vectors(learners: int, seed: int = 0) -> dict[int, Tensor]:
    draws = torch.Generator().manual_seed(seed)
    return {i: torch.randn(LENGTH, generator=draws) for i in range(learners)}


def _dense(vectors: dict[int, Tensor]) -> np.ndarray:
    return torch.stack([vectors[i] for i in sorted(vectors)]).double().numpy()


@pytest.mark.parametrize(
    ("topology", "learners"),
    [
        ("ring", 8),
        ("star", 5),
        ("torus", 12),
        ("one-peer-exponential", 8),
        ("random-matching", 6),
        ("ring", 1),
        ("ring", 2),
    ],
)
@pytest.mark.parametrize("rounds", [1, 3])
def test_a_mix_is_the_product_with_the_matrices_of_its_rounds(topology: str, learners: int, rounds: int) -> None:
    schedule = build_schedule(topology, learners)
    vectors = _vectors(learners)
    expected = _dense(vectors)
    gossip = Gossip(OneProcess(learners), schedule, rounds, Float32())
    for number in range(3):
        gossip.mix(number, vectors)
        for index in range(rounds):
            expected = schedule.at(number * rounds + index) @ expected
    np.testing.assert_allclose(_dense(vectors), expected, rtol=1e-4, atol=2e-6)


def test_one_learner_keeps_its_vector_to_the_last_bit() -> None:
    vectors = _vectors(1)
    before = vectors[0].clone()
    Gossip(OneProcess(1), build_schedule("ring", 1), 4, Float32()).mix(0, vectors)
    assert torch.equal(vectors[0], before)


@pytest.mark.parametrize("learners", [4, 8, 16])
@pytest.mark.parametrize("rounds", [1, 3])
def test_distance_from_consensus_contracts_by_rho_to_the_rounds_at_least(learners: int, rounds: int) -> None:
    # Uniform rings: the second largest |eigenvalue| is (1 + 2 cos(2 pi / n)) / 3 from n = 5 on; 1/3 for n = 4.
    rho = max(abs(1 + 2 * np.cos(2 * np.pi * k / learners)) / 3 for k in range(1, learners))
    vectors = _vectors(learners)
    before = consensus_distance(list(vectors.values()))
    Gossip(OneProcess(learners), build_schedule("ring", learners), rounds, Float32()).mix(0, vectors)
    after = consensus_distance(list(vectors.values()))
    assert after <= rho**rounds * before * (1 + 1e-6)


def _make(kind: str, learners: int, start: Tensor) -> Gossip:
    group, schedule = OneProcess(learners), build_schedule("ring", learners)
    if kind == "stale":
        return StaleGossip(group, schedule, Float32())
    if kind in ("int8", "topk"):
        return ChocoGossip(group, schedule, 1, build_wire(kind, LENGTH, 0.1), start, gamma=0.3)
    return Gossip(group, schedule, 1, build_wire(kind, LENGTH, 0.1))


KINDS = ["float32", "bf16", "fp16", "int8", "topk", "stale"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_of_the_learners_is_kept_to_rounding(kind: str) -> None:
    vectors = _vectors(6)
    before = mean(list(vectors.values()))
    gossip = _make(kind, 6, torch.zeros(LENGTH))
    for number in range(20):
        gossip.mix(number, vectors)
    torch.testing.assert_close(mean(list(vectors.values())), before, rtol=0, atol=3e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_learners_that_only_mix_come_together(kind: str) -> None:
    vectors = _vectors(6)
    gossip = _make(kind, 6, torch.zeros(LENGTH))
    before = consensus_distance(list(vectors.values()))
    for number in range(400):
        gossip.mix(number, vectors)
    # Without error feedback a rounding to 16 bits stays; everything else goes on to float32's resolution.
    bound = {"bf16": 5e-3, "fp16": 1e-3}.get(kind, 1e-5)
    assert consensus_distance(list(vectors.values())) < bound * before


def test_stale_gossip_adds_what_was_sent_a_mix_earlier() -> None:
    schedule = build_schedule("ring", 5)
    matrix = schedule.at(0)
    vectors = _vectors(5)
    gossip = StaleGossip(OneProcess(5), schedule, Float32())
    expected, sent = _dense(vectors), None
    for number in range(5):
        gossip.mix(number, vectors)
        if sent is not None:
            expected = expected + matrix @ sent - sent
        sent = expected.copy()
        np.testing.assert_allclose(_dense(vectors), expected, rtol=1e-4, atol=1e-6)
        for i in vectors:  # a step of computing
            vectors[i].add_(0.01 * (i + 1))
            expected[i] += 0.01 * (i + 1)


def test_choco_gossip_is_the_published_recursion() -> None:
    # Koloskova et al. 2019, algorithm 1, on dense matrices with the same compressor.
    learners, gamma = 5, 0.4
    schedule = build_schedule("ring", learners)
    wire = build_wire("topk", LENGTH, 0.2)
    vectors, matrix = _vectors(learners), torch.tensor(schedule.at(0), dtype=torch.float64)
    x, y = torch.tensor(_dense(vectors)), torch.zeros(learners, LENGTH, dtype=torch.float64)
    gossip = ChocoGossip(OneProcess(learners), schedule, 1, wire, torch.zeros(LENGTH), gamma)
    for number in range(10):
        gossip.mix(number, vectors)
        compressed = torch.stack([wire.decode(wire.encode(row)) for row in (x - y).float()])
        y = y + compressed
        x = x + gamma * (matrix @ y - y)
    torch.testing.assert_close(torch.stack(list(vectors.values())).double(), x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_state_goes_on_exactly(kind: str) -> None:
    def step(gossip: Gossip, vectors: dict[int, Tensor], numbers: range) -> None:
        for number in numbers:
            for i, vector in vectors.items():
                vector.mul_(0.99).add_(0.001 * (i + number))
            gossip.mix(number, vectors)

    start = torch.zeros(LENGTH)
    whole, first = _vectors(4), _vectors(4)
    step(_make(kind, 4, start), whole, range(8))
    before = _make(kind, 4, start)
    step(before, first, range(3))
    saved = {i: {name: t.clone() for name, t in mine.items()} for i, mine in before.tensors().items()}
    after = _make(kind, 4, start)
    after.load(saved)
    step(after, first, range(3, 8))
    assert all(torch.equal(first[i], whole[i]) for i in whole)


@pytest.mark.parametrize(
    ("wire", "each"),
    [("float32", 4 * LENGTH), ("bf16", 2 * LENGTH), ("fp16", 2 * LENGTH), ("int8", LENGTH + 4 * 3), ("topk", 8 * 500)],
)
def test_bytes_are_those_of_the_messages_times_their_receivers(wire: str, each: int) -> None:
    gossip = _make(wire, 6, torch.zeros(LENGTH))
    gossip.mix(0, _vectors(6))
    assert gossip.bytes == 6 * 2 * each  # every learner of a ring sends to two


@pytest.mark.parametrize(
    ("wire", "bound"),
    [
        ("float32", lambda x: torch.zeros_like(x)),
        ("bf16", lambda x: x.abs() * 2**-8),
        ("fp16", lambda x: x.abs() * 2**-11 + 2**-24),
        ("int8", lambda x: torch.full_like(x, float(x.abs().max()) / 127 * 0.5001)),
    ],
)
def test_a_wire_errs_by_half_a_level_at_most(wire: str, bound: Callable[[Tensor], Tensor]) -> None:
    vector = _vectors(1)[0] * 3
    coder = build_wire(wire, LENGTH, 0.1)
    assert ((coder.decode(coder.encode(vector)) - vector).abs() <= bound(vector)).all()


def test_topk_sends_the_largest_magnitudes_and_nothing_else() -> None:
    vector = torch.tensor([0.1, -5.0, 3.0, 0.0, -0.2, 4.0])
    coder = build_wire("topk", 6, 0.5)
    assert coder.decode(coder.encode(vector)).tolist() == [0.0, -5.0, 3.0, 0.0, 0.0, 4.0]


def test_half_precision_clamps_what_it_cannot_hold() -> None:
    coder = build_wire("fp16", 2, 0.1)
    assert coder.decode(coder.encode(torch.tensor([1e9, -1e9]))).tolist() == [65504.0, -65504.0]


def test_a_weighted_sum_does_not_depend_on_where_its_terms_lie() -> None:
    terms = [(0.3, torch.randn(1001)), (0.5, torch.randn(1001)), (0.2, torch.randn(1001))]
    one, other = torch.empty(1001), torch.empty(1002)[1:]
    weighted_sum(terms, one)
    weighted_sum([(w, t.clone()) for w, t in terms], other)
    assert torch.equal(one, other)
