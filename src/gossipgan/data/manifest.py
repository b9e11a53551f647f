"""The manifest of a prepared store: what is in it, and the hashes that prove it.

It holds no time, path or host, so that preparing the same pictures twice gives the same bytes.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

Split = Literal["train", "held_out"]
SPLITS: tuple[Split, ...] = ("train", "held_out")

MANIFEST = "manifest.json"


def images_file(split: Split) -> str:
    """Name of a split's pictures in the store: uint8, (N, C, H, W)."""
    return f"{split}-images.npy"


def labels_file(split: Split) -> str:
    """Name of a split's labels in the store: int64, (N,)."""
    return f"{split}-labels.npy"


class Skipped(BaseModel):
    """A picture that could not be read and was left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    reason: str


class Manifest(BaseModel):
    """What a prepared store holds.

    Attributes:
        source: the source's name, as in ``data.source``.
        split: ``own`` where the held-out pictures are from the source's test split, ``drawn`` where they
            were drawn from all of its pictures.
        split_seed: seed of the draw and of the order of the pictures.
        counts: pictures in each split.
        shape: (C, H, W) of every picture.
        classes: names of the classes in the order of the labels; empty where the pictures have no labels.
        skipped: pictures that could not be read, by name within the source.
        files: SHA-256 of every array file, by name.
        digest: SHA-256 over the content alone (see ``content_digest``).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    split: Literal["own", "drawn"]
    split_seed: int
    counts: dict[Split, int]
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    files: dict[str, str]
    digest: str

    @property
    def has_labels(self) -> bool:
        """Whether every picture has a class."""
        return bool(self.classes)

    def to_json(self) -> str:
        """The text of ``manifest.json``."""
        return json.dumps(self.model_dump(mode="json"), indent=2) + "\n"


def content_digest(
    files: Mapping[str, str],
    counts: Mapping[Split, int],
    shape: tuple[int, int, int],
    classes: tuple[str, ...],
) -> str:
    """SHA-256 in hex over the arrays' hashes, counts, shape and classes.

    Two stores with the same pictures and labels in the same order have the same digest, wherever they were
    prepared and whatever the source was called.
    """
    content = {"files": dict(files), "counts": dict(counts), "shape": shape, "classes": classes}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hex, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
