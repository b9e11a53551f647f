"""What scores are computed against: statistics of the training pictures, computed once and cached."""

import hashlib
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gossipgan.evaluation.metrics import Gaussian
from gossipgan.runs import atomic, write_atomic

_HEADER = "checksum"
_Arrays = dict[str, np.ndarray[Any, Any]]
_ARRAYS = ("mean", "covariance", "subset")


class Reference(NamedTuple):
    """The Gaussian of all reference pictures, and the features ``(n, length)`` of the first n of them."""

    gaussian: Gaussian
    subset: torch.Tensor


def cache_key(**ingredients: str | int | float) -> str:
    """SHA-256 of everything that a cached result depends on: what is given, the libraries and the threads."""
    content = {
        **ingredients,
        "dtype": "float32",
        "threads": torch.get_num_threads(),
        **{library: version(library) for library in ("torch-fidelity", "torch", "numpy")},
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def cached_reference(folder: Path, key: str, compute: Callable[[], Reference]) -> Reference:
    """What ``compute`` gives, from the cache where it is there and whole."""
    path = folder / f"reference-{key}.safetensors"
    found = _read(path)
    if found is None:
        found = compute()
        whole = (*found.gaussian, found.subset.numpy())
        # safetensors would write an array that is not contiguous in the wrong order.
        arrays: _Arrays = {name: np.ascontiguousarray(array) for name, array in zip(_ARRAYS, whole, strict=True)}
        with atomic(path) as temporary:
            save_file(arrays, temporary, metadata={_HEADER: _checksum(arrays)})
    return found


def cached_scores(folder: Path, key: str, compute: Callable[[], dict[str, float]]) -> dict[str, float]:
    """What ``compute`` gives, from the cache where it is there and whole."""
    path = folder / f"floor-{key}.json"
    try:
        stored = json.loads(path.read_text())
        scores = {str(name): float(value) for name, value in stored["scores"].items()}
        if stored[_HEADER] == _scores_checksum(scores):
            return scores
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # not there, or damaged: computed anew below
    scores = compute()
    write_atomic(path, json.dumps({"scores": scores, _HEADER: _scores_checksum(scores)}) + "\n")
    return scores


def _read(path: Path) -> Reference | None:
    try:
        with safe_open(path, framework="np") as file:
            arrays: _Arrays = {name: file.get_tensor(name) for name in _ARRAYS}
            whole = (file.metadata() or {}).get(_HEADER) == _checksum(arrays)
    except (OSError, SafetensorError):
        return None
    if not whole:
        return None
    return Reference(Gaussian(arrays["mean"], arrays["covariance"]), torch.from_numpy(arrays["subset"]))


def _checksum(arrays: _Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def _scores_checksum(scores: dict[str, float]) -> str:
    return hashlib.sha256(json.dumps(scores, sort_keys=True).encode()).hexdigest()
