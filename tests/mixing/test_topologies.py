"""Every topology, on every number of learners that it can have, is a doubly stochastic way to consensus."""

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.errors import UserError
from gossipgan.games.toy.decentralized import mixing_matrix
from gossipgan.mixing.schedule import Periodic
from gossipgan.mixing.topologies import TOPOLOGIES, build_schedule, square_factors

BUILT_IN = [name for name in TOPOLOGIES if name != "custom"]

#: Those whose links go both ways in every round.
SYMMETRIC = [name for name in BUILT_IN if name not in ("exponential", "one-peer-exponential")]


def exists(topology: str, learners: int) -> bool:
    """Three have rules for the number of learners."""
    if topology == "hypercube":
        return learners & (learners - 1) == 0
    if topology in ("grid", "torus"):
        return learners <= 2 or any(learners % rows == 0 for rows in range(2, learners))
    return True


def digraph(matrix: Any) -> nx.DiGraph:
    return nx.DiGraph((int(j), int(i)) for i, j in zip(*np.nonzero(matrix), strict=True))


@pytest.mark.parametrize("topology", BUILT_IN)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 3))
def test_matrices_are_doubly_stochastic_connected_and_aperiodic(topology: str, data: st.DataObject, seed: int) -> None:
    learners = data.draw(st.sampled_from([n for n in range(1, 65) if exists(topology, n)]))
    schedule = build_schedule(topology, learners, seed=seed)
    # Half of all learners meet in a matching: in 60 rounds a group that never met the others would be a wonder.
    matrices = [schedule.at(number) for number in range(schedule.period or 60)]

    for matrix in matrices:
        assert matrix.shape == (learners, learners)
        assert (matrix >= 0).all()
        np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-12)
        if topology in SYMMETRIC:
            np.testing.assert_array_equal(matrix, matrix.T)
    assert schedule.symmetric == all((matrix == matrix.T).all() for matrix in matrices)
    union = digraph(sum(matrices))
    assert len(union) == learners
    assert nx.is_strongly_connected(union)
    assert nx.is_aperiodic(union)
    if schedule.period == 1 and learners > 1:
        assert np.sort(np.abs(np.linalg.eigvals(matrices[0])))[-2] < 1


@pytest.mark.parametrize("topology", BUILT_IN)
def test_one_learner_keeps_to_itself_and_two_take_their_mean(topology: str) -> None:
    for number in range(3):
        assert build_schedule(topology, 1).at(number).tolist() == [[1.0]]
        assert build_schedule(topology, 2).at(number).tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("topology", ["ring", "complete", "torus", "hypercube", "symmetric-exponential"])
def test_on_a_regular_graph_all_rules_give_the_same_weights(topology: str) -> None:
    plain = build_schedule(topology, 16)

    assert plain.weights == "uniform"
    for weights in ("uniform", "metropolis", "max-degree"):
        ruled = build_schedule(topology, 16, weights=weights)
        assert ruled.weights == weights
        np.testing.assert_allclose(ruled.at(0), plain.at(0), rtol=0, atol=1e-15)


@pytest.mark.parametrize("topology", ["line", "star", "grid"])
def test_on_an_irregular_graph_weights_are_metropolis_where_none_are_named(topology: str) -> None:
    assert build_schedule(topology, 12).weights == "metropolis"
    np.testing.assert_array_equal(
        build_schedule(topology, 12).at(0), build_schedule(topology, 12, weights="metropolis").at(0)
    )


@pytest.mark.parametrize("learners", [1, 2, 3, 4, 5, 8, 12, 33])
@pytest.mark.parametrize("topology", ["ring", "complete", "exponential"])
def test_circles_are_those_of_the_bilinear_game(topology: str, learners: int) -> None:
    # There learners are columns, here they are rows.
    expected = mixing_matrix(topology, learners).T

    np.testing.assert_allclose(build_schedule(topology, learners).at(0), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("topology", "learners", "reference"),
    [
        ("ring", 9, nx.cycle_graph(9)),
        ("line", 9, nx.path_graph(9)),
        ("star", 9, nx.star_graph(8)),
        ("complete", 9, nx.complete_graph(9)),
        ("grid", 12, nx.grid_2d_graph(3, 4)),
        ("torus", 12, nx.grid_2d_graph(3, 4, periodic=True)),
        ("hypercube", 16, nx.hypercube_graph(4)),
        ("symmetric-exponential", 12, nx.circulant_graph(12, [1, 2, 4, 8])),
    ],
)
def test_graphs_are_the_textbook_s(topology: str, learners: int, reference: nx.Graph) -> None:
    graph = nx.Graph(digraph(build_schedule(topology, learners).at(0)))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))

    assert nx.is_isomorphic(graph, reference)


@pytest.mark.parametrize(
    ("learners", "factors"), [(1, (1, 1)), (4, (2, 2)), (12, (3, 4)), (16, (4, 4)), (18, (3, 6)), (17, (1, 17))]
)
def test_a_grid_is_as_square_as_can_be(learners: int, factors: tuple[int, int]) -> None:
    assert square_factors(learners) == factors


@settings(max_examples=30, deadline=None)
@given(learners=st.integers(2, 64), start=st.integers(0, 20))
def test_one_peer_rounds_send_one_message_and_average_exactly_on_powers_of_two(learners: int, start: int) -> None:
    schedule = build_schedule("one-peer-exponential", learners)
    period = math.ceil(math.log2(learners))
    product = np.eye(learners)
    for number in range(start, start + period):
        expected = tuple(((j + 2 ** (number % period)) % learners,) for j in range(learners))
        assert schedule.receivers(number) == expected
        product = schedule.at(number) @ product

    assert schedule.period == period
    # Everybody holds the mean of 2^period learners in a row, round the circle: each of n counted once or twice.
    counts = product * 2**period
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    assert set(counts.round().ravel()) <= {1.0, 2.0}
    if learners & (learners - 1) == 0:
        np.testing.assert_array_equal(product, np.full((learners, learners), 1 / learners))


@settings(max_examples=30, deadline=None)
@given(learners=st.integers(2, 40), number=st.integers(0, 10**9), seed=st.integers(0, 5))
def test_a_random_matching_is_a_matching_at_its_address(learners: int, number: int, seed: int) -> None:
    schedule = build_schedule("random-matching", learners, seed=seed)
    matrix = schedule.at(number)
    alone = [i for i in range(learners) if matrix[i, i] == 1]

    assert len(alone) == learners % 2
    assert all(sorted(row[row > 0].tolist()) in ([0.5, 0.5], [1.0]) for row in matrix)
    # Whatever was asked for before, and of whom.
    again = build_schedule("random-matching", learners, seed=seed)
    again.rows(number + 1)
    np.testing.assert_array_equal(again.at(number), matrix)


def test_random_matchings_pair_everybody_with_everybody_equally_often() -> None:
    schedule = build_schedule("random-matching", 6)
    rounds = 2000
    mean = sum(schedule.at(number) for number in range(rounds)) / rounds

    expected = np.full((6, 6), 1 / 10) + np.eye(6) * (0.5 - 1 / 10)
    np.testing.assert_allclose(mean, expected, atol=5 * math.sqrt(0.2 * 0.8 / 4 / rounds))


@pytest.mark.parametrize(
    ("topology", "options"),
    [
        ("random-regular", {"degree": 3}),
        ("erdos-renyi", {"probability": 0.3}),
        ("small-world", {"degree": 4, "probability": 0.5}),
        ("random-matching", {}),
    ],
)
def test_random_graphs_depend_on_the_seed_and_on_nothing_else(topology: str, options: dict[str, Any]) -> None:
    one, same, other = (build_schedule(topology, 20, seed=seed, **options) for seed in (7, 7, 8))

    np.testing.assert_array_equal(one.at(3), same.at(3))
    assert one.digest == same.digest
    assert (one.at(3) != other.at(3)).any()
    assert one.digest != other.digest


def test_random_graphs_have_the_degrees_and_links_asked_for() -> None:
    regular = build_schedule("random-regular", 30, degree=5).at(0)
    world = build_schedule("small-world", 30, degree=6, probability=0).at(0)
    sparse, dense = (build_schedule("erdos-renyi", 60, probability=p, weights="max-degree").at(0) for p in (0.15, 0.6))

    assert ((regular > 0).sum(axis=1) == 6).all()
    # Not rewired, the neighbours are the three nearest on either side.
    assert {(j - i) % 30 for i, j in zip(*np.nonzero(world), strict=True)} == {0, 1, 2, 3, 27, 28, 29}
    for matrix, probability in ((sparse, 0.15), (dense, 0.6)):
        links = (np.count_nonzero(matrix) - 60) / (60 * 59)
        assert links == pytest.approx(probability, abs=5 * math.sqrt(probability * (1 - probability) / (60 * 59 / 2)))


@pytest.mark.parametrize(
    ("topology", "learners", "options", "line"),
    [
        ("rng", 4, {}, "topology 'rng': unknown; allowed are ring, line, "),
        ("rng", 4, {}, "did you mean 'ring'?"),
        ("ring", 4, {"weights": "equal"}, "weights 'equal': unknown; allowed are auto, uniform, metropolis, "),
        ("ring", 0, {}, "ring: 0 learners: must be from 1 to 10,000"),
        ("ring", 10_001, {}, "must be from 1 to 10,000"),
        ("ring", 4, {"degree": 2}, "ring: has no degree, which is for random-regular and small-world; leave it out"),
        ("ring", 4, {"probability": 0.1}, "has no probability, which is for erdos-renyi and small-world"),
        ("ring", 4, {"file": "w.csv"}, "has no file, which is for custom"),
        ("ring", 4, {"weights": "given"}, "given are those of a file; use topology custom"),
        ("random-matching", 4, {"weights": "given"}, "given are those of a file; use topology custom"),
        ("custom", 4, {}, "custom: needs a file"),
        ("torus", 7, {}, "7 is prime; use 8 learners, or ring"),
        ("grid", 3, {}, "3 is prime; use 4 learners, or line"),
        ("hypercube", 12, {}, "12 learners are no power of two; use 8 or 16"),
        ("complete", 2000, {}, "2000 learners have 1,999,000 links here; at most 1,000,000"),
        ("erdos-renyi", 5000, {"probability": 0.5}, "links here; at most 1,000,000"),
        ("random-regular", 5, {"degree": 5}, "degree 5: must be from 1 to 4 for 5 learners"),
        ("random-regular", 5, {"degree": 0}, "degree 0: must be from 1 to 4"),
        ("random-regular", 5, {"degree": -1}, "degree -1: must be from 1 to 4"),
        ("random-regular", 5, {"degree": 3}, "degree 3: 5 learners, an odd number, need an even degree"),
        ("random-regular", 8, {"degree": 1}, "graphs of 8 learners were drawn, none connected; use a larger degree"),
        ("erdos-renyi", 50, {"probability": 0.01}, "none connected; use a probability above 0.078, that is ln(n) / n"),
        ("erdos-renyi", 5, {"probability": 0}, "probability 0: must be above 0 and at most 1"),
        ("erdos-renyi", 5, {"probability": 1.5}, "probability 1.5: must be above 0 and at most 1"),
        ("erdos-renyi", 5, {"probability": math.nan}, "probability nan: must be above 0"),
        ("small-world", 8, {"degree": 3}, "degree 3: must be even, above 0 and below the number of learners (8)"),
        ("small-world", 8, {"degree": 8}, "degree 8: must be even"),
        ("small-world", 8, {"probability": -0.1}, "probability -0.1: must be from 0 to 1"),
        ("star", 8, {"weights": "uniform"}, "here column 0 sums to 3.625, not 1: use metropolis weights"),
        ("line", 8, {"weights": "uniform"}, "not 1: use metropolis weights"),
        ("exponential", 8, {"weights": "metropolis"}, "metropolis weights are for links both ways"),
        ("exponential", 8, {"symmetric_for": "dposg"}, "row 0, column 1 is 0, row 1, column 0 is 0.25; dposg needs"),
        ("one-peer-exponential", 8, {"symmetric_for": "dposg"}, "changes from round to round; dposg needs a fixed one"),
        ("random-matching", 8, {"symmetric_for": "dposg"}, "changes from round to round; dposg needs a fixed one"),
    ],
)
def test_what_cannot_be_is_one_line(topology: str, learners: int, options: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError) as refused:
        build_schedule(topology, learners, **options)

    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("topology", ["ring", "star", "symmetric-exponential"])
def test_a_symmetric_matrix_is_given_to_methods_that_need_one(topology: str) -> None:
    assert isinstance(build_schedule(topology, 8, symmetric_for="dposg"), Periodic)
