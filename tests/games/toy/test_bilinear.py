"""The game: its gradient against the sum written out, its solution, its batches."""

from itertools import islice

import numpy as np
import pytest

from gossipgan.games.toy import BilinearGame, starts, stream


def _offsets(dim: int) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(5)
    return draws.standard_normal((1, dim, dim)), draws.standard_normal((1, dim, dim))


def test_the_field_of_a_batch_is_the_gradient_of_its_samples_sum() -> None:
    dim = 6
    a, b = _offsets(dim)
    game = BilinearGame(a, b)
    w = starts(dim, [1])
    batch = next(game.batches(4, [stream(0, "batches")]))
    samples = np.flatnonzero(batch.mask[0, 0])

    def f(x: np.ndarray, y: np.ndarray) -> float:
        total = 0.0
        for i in samples:
            m = np.outer(np.eye(dim)[i], np.eye(dim)[i])
            total += x @ m @ y + a[0, i] @ x + b[0, i] @ y
        return float(total)

    assert len(samples) == 4
    x, y = w[0]
    # f is linear in each player, so that differences are exact up to rounding.
    grad_x = [f(x + step, y) - f(x, y) for step in np.eye(dim)]
    grad_y = [f(x, y + step) - f(x, y) for step in np.eye(dim)]
    np.testing.assert_allclose(batch.field(w)[0], [grad_x, np.negative(grad_y)], atol=1e-12)


def test_the_full_field_vanishes_at_the_solution_and_rotates_around_it() -> None:
    a, b = _offsets(6)
    game = BilinearGame(a, b)

    np.testing.assert_array_equal(game.solution[0], [-b[0].sum(axis=0), -a[0].sum(axis=0)])
    np.testing.assert_allclose(game.field(game.solution), 0, atol=1e-12)
    off = game.field(game.solution + np.array([[3.0], [4.0]]))
    np.testing.assert_allclose(off[0], [[4.0] * 6, [-3.0] * 6], atol=1e-12)


def test_both_distances_are_the_norms_they_are_named_after() -> None:
    game = BilinearGame.centred(2)
    w = np.array([[[3.0, 4.0], [0.0, 12.0]]])

    assert game.distance(w) == pytest.approx([13.0])
    assert game.sum_of_norms(w) == pytest.approx([17.0])


def test_offsets_have_the_published_scale() -> None:
    # a_i ~ N(0, I/d): x* and y* are N(0, I) each; from zero the sum of norms starts at about 2 sqrt(d) = 20,
    # and from N(0, I) the joint distance does, sqrt(4 d).
    seeds = range(20)
    game = BilinearGame.drawn(100, seeds)

    assert game.sum_of_norms(np.zeros((20, 2, 100))).mean() == pytest.approx(20.0, abs=0.6)
    assert game.distance(starts(100, seeds)).mean() == pytest.approx(20.0, abs=0.6)


def test_batches_hold_each_sample_once_and_all_samples_alike() -> None:
    game = BilinearGame.drawn(10, [0, 1])
    streams = [stream(seed, "batches") for seed in (0, 1)]
    masks = np.stack([batch.mask for batch in islice(game.batches(3, streams), 4000)])

    np.testing.assert_array_equal(masks.sum(axis=-1), 3.0)
    assert set(np.unique(masks)) == {0.0, 1.0}
    # The standard error of a frequency here is .0072.
    np.testing.assert_allclose(masks.mean(axis=0), 0.3, atol=0.03)
    assert (masks[:, 0] != masks[:, 1]).any(), "seeds draw their own"


def test_the_fields_of_single_samples_sum_to_the_full_field() -> None:
    a, b = _offsets(5)
    game = BilinearGame(a, b)
    w = starts(5, [2])
    singles = {}
    for batch in islice(game.batches(1, [stream(0, "batches")]), 200):
        singles[int(batch.mask[0, 0].argmax())] = batch.field(w)

    assert sorted(singles) == list(range(5))
    np.testing.assert_allclose(sum(singles.values()), game.field(w), atol=1e-12)


def test_fresh_fields_draw_a_batch_for_the_trial_and_one_a_player_for_the_update() -> None:
    game = BilinearGame.drawn(8, [0])
    w = starts(8, [3])
    expected = game.batches(3, [stream(0, "batches")])

    for field in islice(game.fields(3, [stream(0, "batches")], fresh=True), 4):
        trial, update = field(w), field(w)
        np.testing.assert_array_equal(trial, next(expected).field(w))
        np.testing.assert_array_equal(update[:, 0], next(expected).field(w)[:, 0])
        np.testing.assert_array_equal(update[:, 1], next(expected).field(w)[:, 1])


def test_one_batch_serves_all_evaluations_of_an_iteration() -> None:
    game = BilinearGame.drawn(8, [0])
    w = starts(8, [3])
    first, second = islice(game.fields(3, [stream(0, "batches")]), 2)

    np.testing.assert_array_equal(first(w), first(w))
    assert (first(w) != second(w)).any()
