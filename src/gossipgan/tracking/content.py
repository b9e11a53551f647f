"""Digests of what a view shows, so that an unchanged view is left as it is."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def content_digest(files: Iterable[tuple[str, Path]], values: Any) -> str:
    """SHA-256, in hex, of files (by name and bytes; missing ones by name) and of JSON values."""
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name, path in files:
        digest.update(f"\0{name}\0".encode())
        if path.exists():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
