import pytest
from pydantic import ValidationError

from gossipgan.sweeps.search.parameter import Parameter


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ({"int": [2, 5]}, [2, 3, 4, 5]),
        ({"int": [2, 10], "step": 4}, [2, 6, 10]),
        ({"float": [0.1, 0.5], "step": 0.1}, [0.1, 0.2, 0.3, 0.4, 0.5]),
        ({"choices": ["ring", "line"]}, ["ring", "line"]),
        ({"float": [0.1, 0.5]}, None),
    ],
)
def test_its_options_are_the_values_that_a_person_would_list(
    entry: dict[str, object], values: list[object] | None
) -> None:
    assert Parameter.model_validate(entry).options() == values


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "one of float, int, choices, value, same_as is wanted, not none"),
        ({"int": [1, 2], "choices": [1]}, "not choices and int"),
        ({"int": [5, 2]}, "lowest, then highest"),
        ({"float": [0, 1], "log": True}, "above 0"),
        ({"float": [0.1, 1], "log": True, "step": 0.1}, "log or step, not both"),
        ({"int": [1, 4], "step": 2}, "do not end at 4"),
        ({"int": [1, 4], "step": 1.5}, "a whole number"),
        ({"value": 1, "log": True}, "log and step go with float or int"),
        ({"int": [1, 2], "ratio_of": "lookahead.k"}, "ratio_of goes with float"),
        ({"choices": [1, 1]}, "each once"),
    ],
)
def test_an_entry_that_means_nothing_is_refused(entry: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Parameter.model_validate(entry)


def test_it_holds_what_lies_in_it() -> None:
    stepped = Parameter.model_validate({"float": [0.1, 0.5], "step": 0.1})
    assert stepped.holds(0.30000000000000004)
    assert not stepped.holds(0.35)
    rate = Parameter.model_validate({"float": [1e-4, 1e-2], "log": True})
    assert rate.holds(1e-2)
    assert not rate.holds(2e-2)
    assert not rate.holds(None)
    switch = Parameter.model_validate({"choices": [True, "no"]})
    assert switch.holds(True)
    assert not switch.holds(1)
