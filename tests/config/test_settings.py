"""Settings that follow from others, and what the schema says of each."""

from typing import Any

import pytest
from pydantic import ValidationError

from gossipgan.config import Settings, params_schema


@pytest.mark.parametrize("half_life", [1.0, 100.0, 2000.0])
def test_the_share_of_a_weight_in_the_ema_has_halved_after_the_half_life(half_life: float) -> None:
    decay = Settings.model_validate({"averaging": {"ema_half_life": half_life}}).averaging.decay

    assert decay is not None
    assert decay**half_life == pytest.approx(0.5)


def test_a_decay_may_be_given_instead_and_null_twice_is_no_ema() -> None:
    given = Settings.model_validate({"averaging": {"ema_half_life": None, "ema_decay": 0.999}})
    none = Settings.model_validate({"averaging": {"ema_half_life": None}, "evaluation": {"headline": "fast"}})

    assert given.averaging.decay == 0.999
    assert none.averaging.decay is None
    assert none.iterates == ("fast",)


def test_slow_weights_are_scored_only_where_lookahead_makes_them() -> None:
    assert Settings().iterates == ("fast", "ema")
    assert Settings.model_validate({"lookahead": {"kind": "joint"}}).iterates == ("fast", "slow", "ema")


def test_every_average_that_is_kept_is_scored() -> None:
    settings = Settings.model_validate(
        {"lookahead": {"kind": "joint"}, "averaging": {"ema_slow_decay": 0.9, "uniform_from": 10}}
    )
    assert settings.iterates == ("fast", "slow", "ema", "ema-slow", "uniform")


@pytest.mark.parametrize(
    ("optimizer", "batches"),
    [
        ({}, 1),
        ({"d_steps": 5}, 5),
        ({"name": "extra-adam", "update": "simultaneous"}, 2),
        ({"name": "extragradient", "update": "simultaneous"}, 2),
        ({"name": "dposg", "update": "simultaneous"}, 1),
    ],
)
def test_an_iteration_draws_a_batch_for_every_evaluation_of_d(optimizer: dict[str, Any], batches: int) -> None:
    assert Settings.model_validate({"optimizer": optimizer}).optimizer.batches == batches


def test_resolved_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().training.steps = 1  # type: ignore[misc]


def _fields(schema: dict[str, Any], properties: dict[str, Any], prefix: str = "") -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, field in properties.items():
        if "$ref" in field:
            below = schema["$defs"][field["$ref"].rpartition("/")[2]]["properties"]
            found.update(_fields(schema, below, f"{prefix}{name}."))
        else:
            found[prefix + name] = field
    return found


def test_every_setting_has_a_description_and_a_default() -> None:
    schema = params_schema()

    for name, field in _fields(schema, schema["properties"]).items():
        assert field.get("description"), name
    assert not [name for name, model in schema["$defs"].items() if model.get("required")]


def test_the_schema_is_of_the_whole_file_and_closed_to_unknown_keys() -> None:
    schema = params_schema()
    experiment = schema["properties"]["experiments"]["additionalProperties"]

    assert set(schema["properties"]) == {*Settings.model_fields, "seeds", "baseline", "experiments"}
    assert schema["additionalProperties"] is False
    assert set(experiment["properties"]) == {
        "game",
        "optimizer",
        "lookahead",
        "averaging",
        "mixing",
        "training",
    }
    assert experiment["additionalProperties"] is False
    assert all(model["additionalProperties"] is False for model in schema["$defs"].values())
