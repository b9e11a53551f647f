"""What all games' setups have in common: how long is played, and what is refused."""

from typing import Any

import pytest

from gossipgan.errors import UserError
from gossipgan.games.toy import BilinearSetup, CubicSetup, NoisySetup, Setup
from gossipgan.games.toy.lab import METHODS

GAMES = (BilinearSetup, NoisySetup, CubicSetup)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_plays_every_game_plain_and_nested(game: type[Setup], method: str) -> None:
    more = {"k": 2, "alpha": 0.5, "super_k": 4} if method.startswith("la-") else {}
    setup = game(method, 0.01, passes=16, seeds=2, **more)

    outcome = setup.run()

    assert outcome.trajectory.iterations[-1] == setup.iterations == (8 if "e" in setup.base.split("-")[0] else 16)
    assert outcome.trajectory.distance.shape == (len(outcome.trajectory.iterations), 2)
    assert outcome.as_json()["game"] == setup.game


@pytest.mark.parametrize("game", GAMES)
def test_an_extrapolation_is_paid_for(game: type[Setup]) -> None:
    assert game("gda", 0.1, passes=300).iterations == 300
    assert game("eg", 0.1, passes=300).iterations == 150
    assert game("la-extra-adam", 0.1, passes=301).iterations == 150


@pytest.mark.parametrize("game", GAMES)
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
        ({"passes": 0}, "--passes 0: must be at least 1"),
        ({"seeds": 0}, "--seeds 0: must be at least 1"),
        ({"method": "eg", "passes": 1}, "--passes 1: not enough for one iteration of eg, which takes 2 passes"),
        ({"start": "one"}, "--start one: unknown; allowed are "),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(game: type[Setup], given: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as error:
        game(**({"method": "gda", "eta": 0.3} | given))

    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)
