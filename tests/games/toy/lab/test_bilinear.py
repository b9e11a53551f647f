"""The bilinear game in the lab: batches, starts, contraction."""

import json
from typing import Any

import numpy as np
import pytest

from gossipgan.errors import UserError
from gossipgan.games.toy import BilinearGame, BilinearSetup


@pytest.mark.parametrize(
    ("method", "batch", "passes", "iterations"),
    [("la-eg", 4, 300, 3750), ("extra-adam", 1, 10, 500), ("adam", 64, 10, 15), ("gda", 7, 3, 42)],
)
def test_a_batch_is_its_share_of_a_pass(method: str, batch: int | None, passes: int, iterations: int) -> None:
    assert BilinearSetup(method, 0.1, batch=batch, passes=passes).iterations == iterations


def test_players_start_at_zero_or_anywhere() -> None:
    zero, normal, small = (
        BilinearSetup("gda", 0.1, passes=1, seeds=20, start=start).run().trajectory.sum_of_norms[0]
        for start in ("zero", "normal", "small")
    )
    game = BilinearGame.drawn(100, range(20))

    np.testing.assert_allclose(zero, np.linalg.norm(game.solution, axis=-1).sum(axis=-1))
    # Independent vectors' norms add as squares: from N(0, I) it is sqrt(2) times as far, from N(0, I/d) sqrt(1.01).
    assert (normal / zero).mean() == pytest.approx(2**0.5, rel=0.02)
    assert (small / zero).mean() == pytest.approx(1.01**0.5, rel=0.01)


def test_measured_and_predicted_contraction_agree() -> None:
    for method, more in (
        ("gda", {}),
        ("eg", {}),
        ("la-gda", {"k": 6, "alpha": 0.4}),
        ("la-eg", {"k": 4, "alpha": 0.7}),
        ("la-gda", {"k": 6, "alpha": 0.8, "super_k": 18}),
    ):
        contraction = BilinearSetup(method, 0.3, **more, seeds=2).run().compared("contraction")

        assert contraction.measured == pytest.approx([contraction.predicted] * 2, rel=1e-6)


def test_no_contraction_is_claimed_on_batches_nor_predicted_for_adam() -> None:
    batched = BilinearSetup("gda", 0.1, dim=5, batch=2, passes=9).run()
    adam = BilinearSetup("adam", 0.1, dim=5, passes=9).run().compared("contraction")

    assert batched.comparisons == ()
    assert adam.predicted is None
    assert adam.measured is not None


def test_a_batch_of_all_samples_is_the_full_batch() -> None:
    full, all_of_them = (BilinearSetup("gda", 0.1, dim=5, batch=batch, passes=9).run() for batch in (None, 5))

    assert full.as_json() == all_of_them.as_json()


def test_json_is_strict_even_of_a_diverged_play() -> None:
    content = BilinearSetup("gda", 5.0, dim=3, passes=900, seeds=1).run().as_json()

    assert json.loads(json.dumps(content, allow_nan=False))["distance"][-1] == [None]


def test_only_a_game_in_the_plane_has_paths() -> None:
    plane, more = (BilinearSetup("la-gda", 0.1, dim=dim, passes=30).run().trajectory for dim in (1, 2))

    assert more.path is None
    assert plane.path is not None
    # The start, 30 steps, and where 5 syncs pulled the first 3 seeds back to.
    assert plane.path.shape == (36, 3, 2)
    np.testing.assert_array_equal(plane.path[-1], plane.last[:3, :, 0])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dim": 0}, "--dim 0: must be at least 1"),
        ({"batch": 101}, "--batch 101: must be full, or 1 to 100"),
        ({"batch": 0}, "--batch 0: must be full, or 1 to 100"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as error:
        BilinearSetup(**({"method": "gda", "eta": 0.3} | given))

    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)
