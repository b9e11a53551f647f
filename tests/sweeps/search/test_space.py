import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.errors import UserError
from gossipgan.sweeps.search.parameter import Parameter, Scalar
from gossipgan.sweeps.search.space import Space

BASE = {"kind": "none", "rounds": 1, "rate": 0.002, "other": 0.002, "steps": 100}


def _space(**entries: dict[str, Any]) -> Space:
    return Space({name: Parameter.model_validate(entry) for name, entry in entries.items()}, BASE)


CONDITIONAL = _space(
    rounds={"int": [1, 3], "when": {"kind": "gossip"}},
    kind={"choices": ["none", "gossip"]},
    other={"ratio_of": "rate", "float": [0.5, 2.0]},
    rate={"float": [0.001, 0.01], "log": True},
    steps={"value": 50},
)


def test_a_setting_is_asked_only_where_its_condition_holds() -> None:
    def resolve(kind: str) -> dict[str, Scalar]:
        values: dict[str, Scalar] = {"kind": kind, "rounds": 2, "rate": 0.004, "other": 2.0}
        return CONDITIONAL.resolve(lambda name, one: values[name])

    assert resolve("gossip") == {"kind": "gossip", "rate": 0.004, "steps": 50, "rounds": 2, "other": 0.008}
    assert resolve("none") == {"kind": "none", "rate": 0.004, "steps": 50, "other": 0.008}


def test_ties_and_conditions_on_what_is_not_searched_read_the_base() -> None:
    space = _space(
        other={"same_as": "rate"}, rounds={"int": [2, 3], "when": {"kind": ["none", "server"], "steps": 100}}
    )
    assert space.resolve(lambda name, one: 3) == {"other": 0.002, "rounds": 3}
    assert _space(rounds={"int": [2, 3], "when": {"steps": 99}}).resolve(lambda name, one: 3) == {}


def test_settings_that_wait_for_one_another_are_refused() -> None:
    with pytest.raises(UserError, match="rate, other wait for one another"):
        _space(rate={"same_as": "other"}, other={"same_as": "rate"})


def test_a_grid_has_every_combination_once_and_heeds_conditions() -> None:
    grid = _space(
        kind={"choices": ["none", "gossip"]},
        rounds={"int": [1, 3], "when": {"kind": "gossip"}},
        rate={"float": [0.1, 0.2], "step": 0.1},
    ).grid()
    assert grid is not None
    points = list(grid)
    # Of each rate: none, and gossip with three numbers of rounds.
    assert len(points) == 2 * (1 + 3)
    assert sorted(map(str, points)) == sorted(
        str(point)
        for rate in (0.1, 0.2)
        for point in (
            {"kind": "none", "rate": rate},
            *({"kind": "gossip", "rate": rate, "rounds": rounds} for rounds in (1, 2, 3)),
        )
    )
    assert CONDITIONAL.grid() is None


@given(st.integers(0, 10_000))
@settings(deadline=None)
def test_optunas_parameters_and_the_settings_lead_to_one_another(seed: int) -> None:
    chance, params = random.Random(seed), {}

    def choose(name: str, one: Parameter) -> Scalar:
        params[one.key(name)] = one.draw(chance)
        return params[one.key(name)]

    values = CONDITIONAL.resolve(choose)
    assert CONDITIONAL.holds(params)
    found = CONDITIONAL.params_of(values)
    assert found.keys() == params.keys()
    for key, value in params.items():
        assert found[key] == (pytest.approx(value) if isinstance(value, float) else value)


def test_what_lies_outside_is_not_held() -> None:
    inside = {"kind": "none", "rate": 0.002, "other / rate": 1.0}
    assert CONDITIONAL.holds(inside)
    assert not CONDITIONAL.holds({**inside, "rate": 1.0})
    assert not CONDITIONAL.holds({**inside, "rounds": 1})
    assert not CONDITIONAL.holds({"kind": "none", "rate": 0.002})
    with pytest.raises(UserError, match=r"rate: 1\.0 lies outside"):
        CONDITIONAL.params_of({"rate": 1.0})
