"""The cubic games: fields against the functions, published points, and the cycle that attracts the flow."""

import numpy as np
import pytest

from gossipgan.games.toy import CubicGame


def _value(form: str, x: float, y: float, epsilon: float) -> float:
    """f as it is published."""
    if form == "almost-bilinear":
        return x * y + epsilon * (y**2 / 2 - y**4 / 4)

    def h(z: float) -> float:
        return z**2 / 4 - z**4 / 2 + z**6 / 6

    return x * (y - 0.45) + h(x) - h(y)


@pytest.mark.parametrize("form", ["almost-bilinear", "forsaken"])
def test_the_field_is_the_gradient_of_the_published_function(form: str) -> None:
    game, step = CubicGame(form, 0.3), 1e-6
    points = np.random.default_rng(3).uniform(-1.5, 1.5, (20, 2))
    for x, y in points:
        grad_x = (_value(form, x + step, y, 0.3) - _value(form, x - step, y, 0.3)) / (2 * step)
        grad_y = (_value(form, x, y + step, 0.3) - _value(form, x, y - step, 0.3)) / (2 * step)
        field = game.field(np.array([[[x], [y]]])).ravel()
        np.testing.assert_allclose(field, [grad_x, -grad_y], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("form", "published"), [("almost-bilinear", (0.0, 0.0)), ("forsaken", (0.0780267, 0.411934))])
def test_the_stationary_points_are_the_published_ones(form: str, published: tuple[float, float]) -> None:
    game = CubicGame(form)

    np.testing.assert_allclose(game.solution.ravel(), published, atol=5e-7)
    np.testing.assert_allclose(game.field(game.solution), 0, atol=1e-15)


@pytest.mark.parametrize("form", ["almost-bilinear", "forsaken"])
def test_the_jacobian_is_the_fields_slope_at_the_solution(form: str) -> None:
    game, step = CubicGame(form, 0.2), 1e-5
    columns = [
        (game.field(game.solution + step * e) - game.field(game.solution - step * e)).ravel() / (2 * step)
        for e in np.eye(2).reshape(2, 1, 2, 1)
    ]

    np.testing.assert_allclose(game.jacobian, np.column_stack(columns), rtol=1e-8, atol=1e-9)


def test_the_origin_repels_the_flow_of_the_first_and_the_point_of_the_second_attracts_it() -> None:
    # w' = -field(w): stable where the field's eigenvalues have positive real parts.
    assert np.linalg.eigvals(CubicGame("almost-bilinear").jacobian).real.max() < 0
    assert np.linalg.eigvals(CubicGame("forsaken").jacobian).real.min() > 0


@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_the_cycle_of_the_almost_bilinear_game_has_radius_2_over_sqrt_3(epsilon: float) -> None:
    cycle = CubicGame("almost-bilinear", epsilon).limit_cycle()

    # By averaging, r' = eps (r / 2 - 3 r^3 / 8) up to order eps^2.
    np.testing.assert_allclose(np.linalg.norm(cycle, axis=1).mean(), 2 / np.sqrt(3), rtol=epsilon**2 + 1e-5)
    # Over a turn as much energy is put in by eps y as is taken out by eps y^3.
    y = cycle[:, 1]
    assert (y**2).mean() == pytest.approx((y**4).mean(), rel=1e-6)


@pytest.mark.parametrize("form", ["almost-bilinear", "forsaken"])
def test_the_flow_comes_to_the_cycle_from_within_and_from_without(form: str) -> None:
    game = CubicGame(form, 0.2)
    cycle = game.limit_cycle()
    centre = game.solution[0]
    for scale in (0.5, 1.3):
        w = centre + scale * (cycle[0].reshape(2, 1) - centre)
        # Midpoint rule; 60 units of time, about ten turns.
        for _ in range(6000):
            w = w - 0.01 * game.field(w - 0.005 * game.field(w))
        assert np.linalg.norm(cycle - w.ravel(), axis=1).min() < 0.02


def test_the_cycle_of_the_second_goes_round_its_stationary_point_at_a_distance() -> None:
    game = CubicGame("forsaken")
    offsets = game.limit_cycle() - game.solution.ravel()
    angles = np.unwrap(np.arctan2(offsets[:, 1], offsets[:, 0]))

    assert abs(angles[-1] - angles[0]) == pytest.approx(2 * np.pi, rel=0.02)
    assert np.linalg.norm(offsets, axis=1).min() > 0.9
