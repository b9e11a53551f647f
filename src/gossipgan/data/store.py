"""The prepared store: memory-mapped pictures and labels, under a manifest.

::

    manifest.json          see ``manifest``
    train-images.npy       uint8, (N, C, H, W)
    train-labels.npy       int64, (N,); absent, like the other labels, where the pictures have none
    held_out-images.npy
    held_out-labels.npy
"""

from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from gossipgan.data.manifest import (
    MANIFEST,
    SPLITS,
    Manifest,
    Split,
    content_digest,
    file_digest,
    images_file,
    labels_file,
)
from gossipgan.errors import UserError

_AGAIN = "run gossipgan prepare"


class Store:
    """A prepared store, opened with ``Store.open``."""

    def __init__(self, path: Path, manifest: Manifest, arrays: dict[str, npt.NDArray[Any]]) -> None:
        self.path = path
        self.manifest = manifest
        self._arrays = arrays

    @classmethod
    def open(cls, path: Path, verify: bool = True) -> Self:
        """Open a store, reading its pictures only where they are used.

        Args:
            path: the store's folder.
            verify: compare every file's SHA-256 with the manifest; else only types and shapes.

        Raises:
            UserError: there is no store, or it is damaged; the file is named.
        """
        manifest = _read_manifest(path)
        expected = _expected_arrays(manifest)
        for name in sorted(expected.keys() ^ manifest.files.keys()):
            raise UserError(f"{path / MANIFEST}: files: {name} does not fit the counts and classes; {_AGAIN}")
        if manifest.digest != content_digest(manifest.files, manifest.counts, manifest.shape, manifest.classes):
            raise UserError(f"{path / MANIFEST}: the digest does not match the content listed; {_AGAIN}")
        arrays = {}
        for name, (dtype, shape) in expected.items():
            file = path / name
            if not file.is_file():
                raise UserError(f"{file}: missing from the prepared store; {_AGAIN}")
            if verify and file_digest(file) != manifest.files[name]:
                raise UserError(
                    f"{file}: damaged: its SHA-256 is not the one in {MANIFEST}; remove the store and {_AGAIN}"
                )
            arrays[name] = _map(file, dtype, shape)
        return cls(path, manifest, arrays)

    @property
    def digest(self) -> str:
        """SHA-256 of the content in hex: the same for the same pictures, wherever they lie."""
        return self.manifest.digest

    def images(self, split: Split) -> npt.NDArray[np.uint8]:
        """Pictures of a split, (N, C, H, W), memory-mapped and read-only, in shuffled order."""
        return self._arrays[images_file(split)]

    def labels(self, split: Split) -> npt.NDArray[np.int64]:
        """Labels of a split, (N,), memory-mapped and read-only: indices into ``manifest.classes``.

        Raises:
            UserError: the pictures have no labels (``manifest.has_labels``).
        """
        if not self.manifest.has_labels:
            raise UserError(
                f"{self.path}: these pictures have no labels; source images takes them from class folders, "
                "source npz from the array labels"
            )
        return self._arrays[labels_file(split)]


def _read_manifest(path: Path) -> Manifest:
    file = path / MANIFEST
    try:
        return Manifest.model_validate_json(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{path}: not a prepared store: there is no {MANIFEST} in it; {_AGAIN}") from None
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(
            f"{file}: damaged: {key + ': ' if key else ''}{first['msg'].splitlines()[0]}; {_AGAIN}"
        ) from None


def _expected_arrays(manifest: Manifest) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
    """Type and shape of every array, by file name."""
    expected: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {}
    for split in SPLITS:
        count = manifest.counts.get(split, 0)
        expected[images_file(split)] = (np.uint8, (count, *manifest.shape))
        if manifest.has_labels:
            expected[labels_file(split)] = (np.int64, (count,))
    return expected


def _map(file: Path, dtype: type[np.generic], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    try:
        array = np.lib.format.open_memmap(file, mode="r")
    except (OSError, ValueError, EOFError, SyntaxError):
        raise UserError(f"{file}: damaged: not a whole .npy file; remove the store and {_AGAIN}") from None
    if array.dtype != dtype or array.shape != shape:
        raise UserError(
            f"{file}: damaged: {array.dtype} of shape {array.shape}, but {MANIFEST} says "
            f"{np.dtype(dtype)} of shape {shape}; remove the store and {_AGAIN}"
        )
    return array
