"""Fingerprints: two runs with one fingerprint are the same run."""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gossipgan.config.settings import Settings
from gossipgan.errors import UserError


def fingerprint(settings: Settings, seed: int, data_digest: str) -> str:
    """SHA-256, in hex, of what a run computes: its settings, its seed and its data.

    Key order and number spelling do not matter (0.5 and 0.50, and 1 for a float field, are read into
    one typed value first), nor do settings that only say where something happens (``Placement``). Of a file that a
    setting names (``Content``) it is what the file holds that counts.

    Args:
        settings: resolved settings of the experiment.
        seed: the run's seed.
        data_digest: digest of the prepared store.

    Raises:
        UserError: a file that a setting names cannot be read.
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
    """Settings as nested mappings, without those that only say where something happens, and with what files hold.

    In place of a file's name stands the SHA-256 of its content, in hex.

    Raises:
        UserError: a file cannot be read.
    """
    kept: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        extra = field.json_schema_extra
        counts = extra.get("fingerprint") if isinstance(extra, dict) else None
        if counts is False:
            continue
        value = getattr(model, name)
        if counts == "content" and value is not None:
            value = _content_digest(Path(value))
        kept[name] = fingerprinted(value) if isinstance(value, BaseModel) else value
    return kept


def _content_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
