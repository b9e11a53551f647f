"""The noisy game in the lab: where the noise keeps the players, measured beside exact."""

from typing import Any

import pytest

from gossipgan.errors import UserError
from gossipgan.games.toy import NoisySetup


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("eg", {}),
        ("ogda", {}),
        ("la-gda", {"k": 6, "alpha": 0.5}),
        ("la-alt-gda", {"k": 6, "alpha": 0.5}),
        ("la-eg", {"k": 5, "alpha": 0.3}),
        ("la-ogda", {"k": 4, "alpha": 0.5}),
        ("la-gda", {"k": 6, "alpha": 0.8, "super_k": 18, "super_alpha": 0.5}),
    ],
)
def test_the_mean_squared_distance_is_the_exact_one(method: str, more: dict[str, Any]) -> None:
    moment = NoisySetup(method, 0.3, **more, dim=3, noise=0.2, seeds=200).run().compared("second_moment")

    assert moment.measured is not None
    # Over 200 seeds, 3 coordinates and the later half of the cycles; seeds alone would leave 6 %.
    assert sum(moment.measured) / 200 == pytest.approx(moment.predicted, rel=0.03)


def test_the_moment_goes_with_noise_squared_and_dimension() -> None:
    one, more = (
        NoisySetup("eg", 0.3, passes=4, seeds=1, dim=dim, noise=noise).run().compared("second_moment").predicted
        for dim, noise in ((1, 0.1), (5, 0.3))
    )

    # 2 sigma^2 (1 + eta^2) / (1 - eta^2)
    assert one == pytest.approx(2 * 0.01 * 1.09 / 0.91, rel=1e-9)
    assert more == pytest.approx(45 * one, rel=1e-9)


def test_the_mean_contracts_as_without_noise() -> None:
    outcome = NoisySetup("la-gda", 0.3, k=6, alpha=0.5, passes=30, seeds=1).run()

    assert outcome.compared("mean_contraction").predicted == pytest.approx(0.7448, abs=5.1e-5)


def test_adam_has_no_exact_moment_and_gda_an_infinite_one() -> None:
    adam, gda = (NoisySetup(method, 0.1, passes=20, seeds=2).run() for method in ("adam", "gda"))

    assert adam.compared("second_moment").predicted is None
    assert adam.as_json()["second_moment"]["predicted"] is None
    assert gda.compared("second_moment").predicted == float("inf")
    assert gda.as_json()["second_moment"]["predicted"] is None


def test_players_start_at_the_solution_or_anywhere() -> None:
    zero, normal = (NoisySetup("eg", 0.1, passes=2, start=start).run().trajectory for start in ("zero", "normal"))

    assert (zero.distance[0] == 0).all()
    assert (normal.distance[0] > 0).all()


@pytest.mark.parametrize(
    ("given", "says"), [({"noise": 0.0}, "--noise 0: must be above 0"), ({"dim": 0}, "--dim 0: must be at least 1")]
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as error:
        NoisySetup("eg", 0.1, **given)

    assert str(error.value).startswith(says)
