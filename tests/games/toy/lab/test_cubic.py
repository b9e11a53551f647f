"""The cubic games in the lab: contraction near the solution beside the linearization's, and circles far from it."""

from typing import Any

import numpy as np
import pytest

from gossipgan.errors import UserError
from gossipgan.games.toy import CubicSetup


@pytest.mark.parametrize("form", ["almost-bilinear", "forsaken"])
@pytest.mark.parametrize(
    ("method", "eta", "more"),
    [
        ("gda", 0.05, {}),
        ("gda", 0.3, {}),
        ("alt-gda", 0.2, {}),
        ("eg", 0.1, {}),
        ("ogda", 0.2, {}),
        ("la-gda", 0.3, {"k": 6, "alpha": 0.5}),
        ("la-alt-gda", 0.1, {"k": 6, "alpha": 0.5}),
        ("la-eg", 0.1, {"k": 4, "alpha": 0.6}),
        ("la-ogda", 0.2, {"k": 4, "alpha": 0.5}),
        ("la-gda", 0.3, {"k": 6, "alpha": 0.8, "super_k": 18, "super_alpha": 0.5}),
    ],
)
def test_contraction_near_the_solution_is_that_of_the_linearization(
    form: str, method: str, eta: float, more: dict[str, Any]
) -> None:
    setup = CubicSetup(method, eta, form=form, passes=200, seeds=2, **more)

    contraction = setup.run().compared("contraction")

    assert contraction.measured == pytest.approx([contraction.predicted] * 2, rel=1e-4)


def test_the_linearization_of_gda_has_the_eigenvalues_of_its_closed_form() -> None:
    # The field's matrix at the origin is [[0, 1], [-1, -eps]]: determinant of I - eta J is 1 + eta eps + eta^2.
    eta, epsilon = 0.3, 0.2
    setup = CubicSetup("gda", eta, epsilon=epsilon, passes=1, seeds=1)

    assert setup.run().compared("contraction").predicted == pytest.approx((1 + eta * epsilon + eta**2) ** 0.5, rel=1e-9)


def test_gda_circles_where_its_steps_balance_the_cubic_part() -> None:
    # Averaged over a turn: d(r^2) = eta^2 r^2 + eta eps (r^2 - 3 r^4 / 4) = 0, so r^2 = 4 (1 + eta / eps) / 3.
    eta, epsilon = 0.02, 0.05
    late = CubicSetup("gda", eta, epsilon=epsilon, passes=10_000, seeds=2).run().compared("late_distance")

    assert late.measured == pytest.approx([(4 * (1 + eta / epsilon) / 3) ** 0.5] * 2, rel=0.01)


def test_alternating_gda_is_drawn_to_the_flows_cycle_from_inside_and_outside() -> None:
    late = CubicSetup("alt-gda", 0.05, epsilon=0.05, passes=10_000, seeds=4).run().compared("late_distance")

    assert late.predicted == pytest.approx(2 / 3**0.5, rel=1e-3)
    assert late.measured == pytest.approx([late.predicted] * 4, rel=0.01)


def test_lookahead_leaves_the_cycle_for_the_solution() -> None:
    gda, lookahead = (
        CubicSetup(method, 0.1, seeds=3, passes=2000, **more).run().trajectory.distance[-1]
        for method, more in (("gda", {}), ("la-gda", {"k": 6, "alpha": 0.5}))
    )

    assert (gda > 1).all()
    assert (lookahead < 1e-3).all()


def test_the_forsaken_point_attracts_those_who_start_near_and_the_cycle_those_who_do_not() -> None:
    near, normal = (
        CubicSetup("gda", 0.01, form="forsaken", start=start, passes=8000, seeds=4).run().trajectory.distance
        for start in ("near", "normal")
    )

    inside = near[0] < 0.1
    assert inside.any()
    assert (near[-1][inside] < 0.5 * near[0][inside]).all()
    outside = (normal[0] > 0.5) & np.isfinite(normal[-1])
    assert outside.any()
    assert (normal[-1][outside] > 0.85).all()


def test_adam_has_no_linearization() -> None:
    outcome = CubicSetup("adam", 0.01, passes=50, seeds=1).run()

    assert [one.key for one in outcome.comparisons] == ["late_distance"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"form": "quartic"}, "--form quartic: unknown; allowed are almost-bilinear, forsaken"),
        ({"epsilon": 2.0}, "--epsilon 2: must be above 0 and at most 1"),
        ({"form": "forsaken", "epsilon": 0.1}, "--epsilon: forsaken has no such number; only almost-bilinear has"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as error:
        CubicSetup("gda", 0.1, **given)

    assert str(error.value).startswith(says)
