"""The lab: budgets, the stochastic game, what it refuses."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gossipgan.errors import UserError
from gossipgan.games.bilinear import BilinearGame, Setup, run


@pytest.mark.parametrize(
    ("method", "batch", "passes", "iterations"),
    [
        ("gda", None, 300, 300),
        ("eg", None, 300, 150),
        ("la-eg", 4, 300, 3750),
        ("extra-adam", 1, 10, 500),
        ("adam", 64, 10, 15),
    ],
)
def test_extrapolations_and_batches_count_in_passes(
    method: str, batch: int | None, passes: int, iterations: int
) -> None:
    assert Setup(method, 0.1, batch=batch, passes=passes).iterations == iterations


def _end(method: str, eta: float, **more: Any) -> NDArray[np.float64]:
    """The sum of norms at the end, one a seed."""
    ends: NDArray[np.float64] = run(Setup(method, eta, **more, seeds=3)).trajectory.sum_of_norms[-1]
    return ends


def test_on_batches_of_64_every_method_ends_where_published() -> None:
    more = {"batch": 64, "passes": 20_000}
    lookahead = _end("la-gda", 0.005, k=450, alpha=0.3, **more)
    adam = _end("adam", 0.005, beta1=-0.6, **more)
    extragradient = _end("eg", 0.005, **more)

    # Published of one game; other games, starts and batches differ by about a tenth.
    assert lookahead.mean() == pytest.approx(1.16, rel=0.2)
    assert adam.mean() == pytest.approx(11.0, rel=0.1)
    assert extragradient.mean() == pytest.approx(20.2, rel=0.1)
    assert lookahead.max() < adam.min() < adam.max() < extragradient.min()


def test_on_batches_of_16_methods_come_in_the_published_order_at_a_tenth_of_the_passes() -> None:
    more = {"batch": 16, "passes": 2000}
    lookahead = _end("la-gda", 0.01, k=1500, alpha=0.3, **more)
    adam = _end("adam", 0.005, beta1=-0.3, **more)
    extragradient = _end("eg", 0.005, **more)

    assert lookahead.max() < adam.min() < adam.max() < extragradient.min()
    # Lookahead is at its noise floor by then, and as deep in a cycle (500 steps) as after 20,000 passes.
    assert lookahead.mean() == pytest.approx(2.7, rel=0.1)


def test_in_full_batch_lookahead_and_extragradient_reach_the_solution_and_adam_does_not() -> None:
    more = {"passes": 1000}

    assert _end("la-gda", 0.2, k=15, alpha=0.3, **more).max() < 1e-13
    assert _end("eg", 0.8, **more).max() < 1e-13
    assert _end("adam", 0.005, beta1=-0.9, **more).min() > 1


def test_players_start_at_zero_or_anywhere() -> None:
    zero, normal = (
        run(Setup("gda", 0.1, passes=1, seeds=2, start=start)).trajectory.sum_of_norms[0]
        for start in ("zero", "normal")
    )
    game = BilinearGame.drawn(100, [0, 1])

    np.testing.assert_allclose(zero, np.linalg.norm(game.solution, axis=-1).sum(axis=-1))
    assert (normal > 1.2 * zero).all(), "the sum of two independent vectors is longer by sqrt(2)"


def test_measured_and_predicted_contraction_agree() -> None:
    for method, more in (
        ("gda", {}),
        ("eg", {}),
        ("la-gda", {"k": 6, "alpha": 0.4}),
        ("la-eg", {"k": 4, "alpha": 0.7}),
    ):
        outcome = run(Setup(method, 0.3, **more, seeds=2))

        assert outcome.measured == pytest.approx([outcome.predicted] * 2, rel=1e-6)


def test_no_contraction_is_claimed_on_batches_nor_predicted_for_adam() -> None:
    batched, adam = run(Setup("gda", 0.1, dim=5, batch=2, passes=9)), run(Setup("adam", 0.1, dim=5, passes=9))

    assert (batched.predicted, batched.measured) == (None, None)
    assert adam.predicted is None
    assert adam.measured is not None


def test_a_batch_of_all_samples_is_the_full_batch() -> None:
    full, all_of_them = (run(Setup("gda", 0.1, dim=5, batch=batch, passes=9)) for batch in (None, 5))

    assert full.as_json() == all_of_them.as_json()


def test_json_is_strict_even_of_a_diverged_play() -> None:
    content = run(Setup("gda", 5.0, dim=3, passes=900, seeds=1)).as_json()

    assert json.loads(json.dumps(content, allow_nan=False))["distance"][-1] == [None]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"method": "sgd"}, "--method sgd: unknown; allowed are gda, alt-gda"),
        ({"eta": 0.0}, "--eta 0: must be above 0"),
        ({"eta": float("nan")}, "--eta nan: must be above 0"),
        ({"k": 3}, "--k: gda has no Lookahead; use --method la-gda"),
        ({"super_k": 3}, "--super-k: gda has no Lookahead"),
        ({"method": "la-gda", "k": 0}, "--k 0: must be at least 1"),
        ({"method": "la-gda", "alpha": 1.5}, "--alpha 1.5: must be above 0 and at most 1"),
        ({"method": "la-gda", "k": 6, "super_k": 20}, "--super-k 20: must be a multiple of --k, which is 6"),
        ({"method": "la-gda", "super_alpha": 0.5}, "--super-alpha: only for the nested Lookahead; give --super-k"),
        ({"beta1": 0.5}, "--beta1: gda has no such number; only adam and extra-adam have"),
        ({"method": "adam", "beta1": -1.0}, "--beta1 -1: must be above -1 and below 1"),
        ({"method": "adam", "beta2": 1.0}, "--beta2 1: must be at least 0 and below 1"),
        ({"dim": 0}, "--dim 0: must be at least 1"),
        ({"batch": 101}, "--batch 101: must be full, or 1 to 100"),
        ({"batch": 0}, "--batch 0: must be full, or 1 to 100"),
        ({"passes": 0}, "--passes 0: must be at least 1"),
        ({"seeds": 0}, "--seeds 0: must be at least 1"),
        ({"method": "eg", "passes": 1}, "--passes 1: not enough for one iteration of eg, which takes 2 passes"),
        ({"start": "one"}, "--start one: unknown; allowed are zero, normal"),
        ({"extrapolation_passes": 3}, "--extrapolation-passes 3: must be 1 or 2"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as error:
        Setup(**({"method": "gda", "eta": 0.3} | given))

    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)
