"""Rho and what is left after t rounds, against closed forms, published values and the norms of dense products."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.mixing.schedule import Periodic
from gossipgan.mixing.spectrum import Spectrum
from gossipgan.mixing.topologies import build_schedule


def spectrum(topology: str, learners: int, **options: Any) -> Spectrum:
    return Spectrum(build_schedule(topology, learners, **options))


def left(schedule: Any, start: int, rounds: int) -> float:
    """The norm of the product of some rounds, without the mean: a second way to what is left."""
    n = schedule.learners
    product = np.eye(n) - 1 / n
    for number in range(start, start + rounds):
        product = schedule.at(number) @ product
    return float(np.linalg.svd(product, compute_uv=False)[0])


@pytest.mark.parametrize(
    ("topology", "learners", "rho", "rounds"),
    [
        # Shared by those who gossip on uniform weights: t for rho^t <= .1.
        ("ring", 4, 0.333, 3),
        ("ring", 8, 0.805, 11),
        ("ring", 16, 0.949, 45),
        ("ring", 32, 0.987, 179),
        ("exponential", 4, 0.333, 3),
        ("exponential", 8, 0.500, 4),
        ("exponential", 16, 0.600, 5),
        ("exponential", 32, 0.667, 6),
    ],
)
def test_uniform_rings_and_exponential_graphs_have_the_known_rho_and_rounds(
    topology: str, learners: int, rho: float, rounds: int
) -> None:
    found = spectrum(topology, learners)

    assert found.rho == pytest.approx(rho, abs=5e-4)
    assert found.gap == 1 - found.rho
    assert found.rounds_for(0.1) == rounds
    assert found.contraction(rounds) <= 0.1 < found.contraction(rounds - 1)


def _ring(n: int) -> float:
    return max(abs(1 + 2 * math.cos(2 * math.pi * k / n)) / 3 for k in range(1, n))


def _torus(rows: int, columns: int) -> float:
    def angle(k: int, n: int) -> float:
        return 2 * math.cos(2 * math.pi * k / n)

    values = [(1 + angle(a, rows) + angle(b, columns)) / 5 for a in range(rows) for b in range(columns)]
    return max(abs(value) for value in values[1:])


@pytest.mark.parametrize(
    ("topology", "learners", "rho"),
    [
        *(("ring", n, _ring(n)) for n in (4, 5, 7, 12, 40, 1500)),
        *(("hypercube", 1 << d, (d - 1) / (d + 1)) for d in (1, 2, 3, 4, 6)),
        ("hypercube", 2048, 10 / 12),
        *(("complete", n, 0.0) for n in (2, 3, 10, 33)),
        *(("torus", rows * columns, _torus(rows, columns)) for rows, columns in ((3, 3), (3, 4), (4, 4), (5, 7))),
        ("torus", 36 * 36, _torus(36, 36)),
        # Metropolis weights on a line are a third each, the ends' own two thirds; a star's are 1/n.
        *(("line", n, (1 + 2 * math.cos(math.pi / n)) / 3) for n in (3, 5, 20, 1200)),
        *(("star", n, 1 - 1 / n) for n in (3, 5, 20)),
        *(("exponential", n, 1 - 2 / (1 + math.ceil(math.log2(n)))) for n in (6, 10, 12, 64, 100)),
        ("ring", 1, 0.0),
        ("ring", 2, 0.0),
        ("ring", 3, 0.0),
        ("random-matching", 1, 0.0),
        ("random-matching", 2, 0.0),
        *(("random-matching", n, math.sqrt((n - 2) / (2 * (n - 1)))) for n in (4, 10)),
        *(("random-matching", n, math.sqrt(0.5)) for n in (3, 9)),
        *(("one-peer-exponential", n, 0.0) for n in (2, 4, 8, 64)),
    ],
)
def test_rho_is_the_closed_form(topology: str, learners: int, rho: float) -> None:
    assert spectrum(topology, learners).rho == pytest.approx(rho, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("learners", [3, 7, 15, 63])
def test_exponential_graphs_of_an_odd_number_are_faster_than_even_ones(learners: int) -> None:
    assert spectrum("exponential", learners).rho < 1 - 2 / (1 + math.ceil(math.log2(learners)))


@pytest.mark.parametrize("topology", ["ring", "grid", "star", "small-world", "exponential", "one-peer-exponential"])
@settings(max_examples=8, deadline=None)
@given(size=st.sampled_from([4, 6, 12, 20]), rounds=st.integers(0, 9))
def test_contraction_is_the_norm_of_the_rounds_product(topology: str, size: int, rounds: int) -> None:
    schedule = build_schedule(topology, size)
    assert schedule.period is not None

    worst = max(left(schedule, start, rounds) for start in range(schedule.period))

    assert Spectrum(schedule).contraction(rounds) == pytest.approx(worst, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("learners", [3, 6, 12, 20, 100])
def test_one_peer_rounds_contract_by_the_sines_of_a_period(learners: int) -> None:
    period = math.ceil(math.log2(learners))
    shrink = max(
        abs(math.sin(math.pi * k * 2**period / learners) / (2**period * math.sin(math.pi * k / learners)))
        for k in range(1, learners)
    )
    found = spectrum("one-peer-exponential", learners)

    assert found.contraction(period) == pytest.approx(shrink, rel=1e-9)
    assert found.rho == pytest.approx(shrink ** (1 / period), rel=1e-9)


def test_one_peer_rounds_for_an_accuracy_are_those_of_a_period_on_powers_of_two() -> None:
    assert [spectrum("one-peer-exponential", n).rounds_for(1e-6) for n in (1, 2, 4, 8, 64)] == [0, 1, 2, 3, 6]


def test_a_matching_contracts_the_mean_square_by_the_predicted_share() -> None:
    schedule = build_schedule("random-matching", 9)
    start = np.random.default_rng(0).standard_normal(9)
    start -= start.mean()

    shares = [np.square(schedule.at(number) @ start).sum() / np.square(start).sum() for number in range(4000)]

    assert np.mean(shares) == pytest.approx(Spectrum(schedule).rho ** 2, abs=5 * np.std(shares) / math.sqrt(4000))


def test_a_matrix_that_is_not_normal_contracts_by_its_powers_norms() -> None:
    # A directed walk with a shortcut, mixed with its own permutations: doubly stochastic, by Birkhoff.
    eye = np.eye(5)
    matrix = 0.2 * eye + 0.5 * eye[[1, 2, 3, 4, 0]] + 0.3 * eye[[1, 0, 2, 4, 3]]
    schedule = Periodic("custom", "given", [matrix])
    found = Spectrum(schedule)

    assert found.rho == pytest.approx(np.sort(np.abs(np.linalg.eigvals(matrix)))[-2], rel=1e-9)
    for rounds in (1, 2, 7):
        assert found.contraction(rounds) == pytest.approx(left(schedule, 0, rounds), rel=1e-9)
    assert found.contraction(1) > found.rho
    assert found.rounds_for(0.01) == next(t for t in range(99) if left(schedule, 0, t) <= 0.01)


def test_matrices_of_a_period_without_a_circle_s_symmetry_contract_from_the_worst_start() -> None:
    pairs = [np.eye(4) for _ in range(3)]
    for matrix, (i, j) in zip(pairs, [(0, 1), (1, 2), (2, 3)], strict=True):
        matrix[[i, i, j, j], [i, j, i, j]] = 0.5
    schedule = Periodic("custom", "given", pairs)

    for rounds in (0, 1, 3, 4, 8):
        worst = max(left(schedule, start, rounds) for start in range(3))
        assert Spectrum(schedule).contraction(rounds) == pytest.approx(worst, rel=1e-9)


def test_groups_that_rounding_parts_never_agree() -> None:
    tiny = 1e-17
    matrix = np.array([[1.0, tiny], [tiny, 1.0]])

    assert Spectrum(Periodic("custom", "given", [matrix])).rounds_for(0.1) is None
