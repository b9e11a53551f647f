"""The JSON schema of a whole ``params.yaml``, for editors."""

from typing import Any

from gossipgan.config.load import EXPERIMENT_SECTIONS
from gossipgan.config.settings import Settings


def params_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of ``params.yaml``: sections, seeds, baseline and experiments.

    It says what one field may hold. What fields may hold together, ``load_params`` checks.
    """
    schema = Settings.model_json_schema()
    sections: dict[str, Any] = schema["properties"]
    # Every field has a default, so a section's schema also fits an experiment's part of a section.
    overrides = {name: {"$ref": sections[name]["$ref"]} for name in EXPERIMENT_SECTIONS}
    sections["seeds"] = {
        "description": "seeds at which every experiment is run",
        "type": "array",
        "items": {"type": "integer", "minimum": 0},
        "minItems": 1,
        "uniqueItems": True,
        "default": [1],
    }
    sections["baseline"] = {
        "description": "experiment that the others are compared with; null: the first",
        "type": ["string", "null"],
    }
    sections["experiments"] = {
        "description": "what is compared: names, and what each overrides in the sections",
        "type": "object",
        "propertyNames": {"pattern": r"^[\w-]+$"},
        "additionalProperties": {
            "type": ["object", "null"],
            "properties": overrides,
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "params.yaml",
        "description": "Settings and experiments of gossipgan",
    }
