"""Fingerprints: two runs with one fingerprint are the same run."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel

from gossipgan.config.settings import Settings


def fingerprint(settings: Settings, seed: int, data_digest: str) -> str:
    """SHA-256, in hex, of what a run computes: its settings, its seed and its data.

    Key order and number spelling do not matter (0.5 and 0.50, and 1 for a float field, are read into
    one typed value first), nor do settings that only say where something happens (``Placement``).

    Args:
        settings: resolved settings of the experiment.
        seed: the run's seed.
        data_digest: digest of the prepared store.
    """
    content = {"settings": fingerprinted(settings), "seed": seed, "data": data_digest}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def flatten(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, by dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def fingerprinted(model: BaseModel) -> dict[str, Any]:
    """Settings as nested mappings, without those that only say where something happens."""
    kept: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and extra.get("fingerprint") is False:
            continue
        value = getattr(model, name)
        kept[name] = fingerprinted(value) if isinstance(value, BaseModel) else value
    return kept
