"""What processes read of a schedule: rows, receivers, digest."""

from typing import Any

import numpy as np
import pytest

from gossipgan.mixing.schedule import Periodic
from gossipgan.mixing.topologies import build_schedule

SOME: list[tuple[str, int, dict[str, Any]]] = [
    ("ring", 8, {}),
    ("star", 7, {}),
    ("exponential", 6, {}),
    ("one-peer-exponential", 6, {}),
    ("random-matching", 7, {}),
    ("ring", 1, {}),
]


@pytest.mark.parametrize(("topology", "learners", "options"), SOME)
def test_rows_are_the_matrix_s_in_ascending_order_with_oneself(
    topology: str, learners: int, options: dict[str, Any]
) -> None:
    schedule = build_schedule(topology, learners, **options)
    for number in (0, 1, 2, 3, 17):
        matrix, rows = schedule.at(number), schedule.rows(number)
        rebuilt = np.zeros_like(matrix)
        for i, row in enumerate(rows):
            neighbours = [j for j, _ in row]
            assert neighbours == sorted(set(neighbours))
            assert i in neighbours
            for j, weight in row:
                assert type(j) is int
                assert type(weight) is float
                rebuilt[i, j] = weight
        np.testing.assert_array_equal(rebuilt, matrix)
        hears = {(i, j) for i, row in enumerate(rows) for j, _ in row if i != j}
        assert hears == {(i, j) for j, receivers in enumerate(schedule.receivers(number)) for i in receivers}


def test_a_row_names_its_learner_even_at_weight_0() -> None:
    schedule = Periodic("custom", "given", [(np.ones((3, 3)) - np.eye(3)) / 2])

    assert schedule.rows(0) == (
        ((0, 0.0), (1, 0.5), (2, 0.5)),
        ((0, 0.5), (1, 0.0), (2, 0.5)),
        ((0, 0.5), (1, 0.5), (2, 0.0)),
    )
    assert schedule.receivers(0) == ((1, 2), (0, 2), (0, 1))


def test_rounds_repeat_after_a_period() -> None:
    schedule = build_schedule("one-peer-exponential", 8)

    assert schedule.period == 3
    assert [schedule.receivers(number)[0] for number in range(7)] == [(1,), (2,), (4,), (1,), (2,), (4,), (1,)]


def test_the_mean_is_kept_to_rounding() -> None:
    vectors = np.random.default_rng(0).standard_normal((9, 50))
    for topology in ("ring", "star", "exponential", "one-peer-exponential", "random-matching", "erdos-renyi"):
        mixed = vectors
        schedule = build_schedule(topology, 9)
        for number in range(20):
            mixed = schedule.at(number) @ mixed
        np.testing.assert_allclose(mixed.mean(axis=0), vectors.mean(axis=0), rtol=0, atol=1e-14)


def test_a_digest_is_the_same_for_the_same_matrices_alone() -> None:
    digests = [build_schedule(topology, learners, **options).digest for topology, learners, options in SOME]

    assert len(set(digests)) == len(digests)
    assert digests == [build_schedule(topology, learners, **options).digest for topology, learners, options in SOME]
    assert build_schedule("random-matching", 7, seed=1).digest not in digests
    assert build_schedule("random-regular", 8, degree=7).digest == build_schedule("complete", 8).digest
