"""Pictures in a numpy archive.

Accepted names, either ``images`` with optional ``labels``, or ``x_train`` with optional ``y_train``,
``x_test`` and ``y_test`` (the test arrays are then the source's own test split). Pictures are uint8,
(N, H, W), (N, H, W, C) or (N, C, H, W) with C 1 or 3; labels are integers, (N,) or (N, 1). The classes are
the label values that occur, in ascending order. Other arrays in the archive are left alone. Pickled objects
are refused.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gossipgan.config import DataSettings
from gossipgan.data.sources.arrays import ArraySource
from gossipgan.data.sources.base import Source, given_path
from gossipgan.errors import UserError

_WANTED = "an .npz file with an array images, or x_train"


def open_source(settings: DataSettings) -> Source:
    """Read the archive at ``data.path``.

    Raises:
        UserError: it is missing or damaged, or an array has another name, type or shape than described above.
    """
    path = given_path(settings, _WANTED)
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise UserError(f"{path}: damaged, or not an .npz file; source npz wants {_WANTED}")
    arrays = _load(path)
    if "images" in arrays:
        names = (("images", "labels"),)
    elif "x_train" in arrays:
        test = (("x_test", "y_test"),) if "x_test" in arrays else ()
        names = (("x_train", "y_train"), *test)
    else:
        raise UserError(f"{path}: no array images or x_train; source npz wants {_WANTED}")
    pictures = [_as_pictures(arrays[images], f"{path}: {images}") for images, _ in names]
    labels, classes = _labels(path, arrays, names, [len(part) for part in pictures])
    return ArraySource(
        str(path),
        pictures[0],
        pictures[1] if len(pictures) > 1 else None,
        labels,
        classes,
        names=(names[0][0], names[-1][0]),
    )


def _load(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays with names that mean something here."""
    arrays = {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in ("images", "labels", "x_train", "y_train", "x_test", "y_test"):
                if name in archive.files:
                    arrays[name] = _load_array(path, archive, name)
    except (zipfile.BadZipFile, OSError, ValueError):
        raise UserError(f"{path}: damaged: not a whole .npz file; write it again") from None
    return arrays


def _load_array(path: Path, archive: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = archive[name]
    except ValueError as error:
        if "pickle" in str(error):
            raise UserError(
                f"{path}: {name}: an array of Python objects, which would be a pickle; save a plain array of numbers"
            ) from None
        raise UserError(f"{path}: {name}: damaged; write the file again") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, SyntaxError, NotImplementedError):
        raise UserError(f"{path}: {name}: damaged; write the file again") from None
    except RuntimeError:
        raise UserError(f"{path}: {name}: encrypted; write the file without a password") from None
    if not isinstance(array, np.ndarray):
        raise UserError(f"{path}: {name}: not an .npy array; write the file again with numpy.savez")
    return array


def _as_pictures(array: npt.NDArray[Any], where: str) -> npt.NDArray[np.uint8]:
    """(N, H, W) for grey or (N, H, W, 3) for RGB, as a view."""
    if array.dtype != np.uint8:
        raise UserError(
            f"{where}: type {array.dtype}; uint8 from 0 to 255 is wanted, such as (x * 255).round().astype('uint8')"
        )
    colours = (1, 3)
    if array.ndim == 4 and array.shape[3] in colours and array.shape[1] not in colours:
        pictures = array
    elif array.ndim == 4 and array.shape[1] in colours and array.shape[3] not in colours:
        pictures = array.transpose(0, 2, 3, 1)
    elif array.ndim == 3:
        pictures = array[..., np.newaxis]
    else:
        raise UserError(
            f"{where}: shape {array.shape}; (N, H, W), (N, H, W, C) or (N, C, H, W) with C 1 or 3 is wanted"
        )
    if 0 in pictures.shape:
        raise UserError(f"{where}: empty: shape {array.shape}; at least one picture is wanted")
    return pictures[..., 0] if pictures.shape[-1] == 1 else pictures


def _labels(
    path: Path,
    arrays: dict[str, npt.NDArray[Any]],
    names: tuple[tuple[str, str], ...],
    counts: list[int],
) -> tuple[npt.NDArray[np.int64] | None, tuple[str, ...]]:
    """Labels as indices into the classes, and the classes; None and nothing where there are none."""
    present = [label for _, label in names if label in arrays]
    if not present:
        return None, ()
    parts = []
    for (images, label), count in zip(names, counts, strict=True):
        if label not in arrays:
            raise UserError(f"{path}: {images} has no {label}, but there is {present[0]}; give both or neither")
        values = arrays[label]
        if values.shape not in ((count,), (count, 1)) or values.dtype.kind not in "iu":
            raise UserError(
                f"{path}: {label}: {values.dtype} of shape {values.shape}; "
                f"integers of shape ({count},) are wanted, one for each of {images}"
            )
        parts.append(values.reshape(count))
    values, labels = np.unique(np.concatenate(parts), return_inverse=True)
    return labels.astype(np.int64), tuple(str(value) for value in values.tolist())
