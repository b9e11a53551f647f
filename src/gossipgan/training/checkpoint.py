"""Checkpoints: everything a run needs to go on as if it had never stopped.

A checkpoint is a folder, ``step-00000500``: one safetensors file a learner (tensors by name, and in its metadata a JSON
text with all else), so that any number of processes can read what any other number wrote, and ``run.json`` with what
belongs to the run. It is written beside its place, flushed and renamed, so that a folder that has the name is complete.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gossipgan.errors import UserError
from gossipgan.runs.files import sync_directory, write_json

_RUN = "run.json"


class LearnerState(NamedTuple):
    """What one learner's file holds."""

    tensors: dict[str, Tensor]
    numbers: dict[str, Any]


def begin_checkpoint(folder: Path, step: int) -> Path:
    """The temporary folder to write a step's checkpoint into, made empty. One process does this."""
    temporary = temporary_checkpoint(folder, step)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    return temporary


def temporary_checkpoint(folder: Path, step: int) -> Path:
    """Where a step's checkpoint is written before it is complete."""
    return folder / f".step-{step:08d}.tmp"


def write_learner(temporary: Path, learner: int, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
    """Add a learner. Tensors are stored as they lie, so that equal states give equal files."""
    path = _learner(temporary, learner)
    save_file(
        {name: tensor.detach().contiguous() for name, tensor in tensors.items()},
        path,
        metadata={"numbers": json.dumps(numbers, sort_keys=True)},
    )
    with path.open("rb") as file:
        os.fsync(file.fileno())


def finish_checkpoint(temporary: Path, numbers: dict[str, Any]) -> Path:
    """Add what belongs to the run, and give the folder its name. One process does this, when all learners are in."""
    write_json(temporary / _RUN, numbers)
    sync_directory(temporary)
    path = temporary.with_name(temporary.name.removeprefix(".").removesuffix(".tmp"))
    if path.exists():  # of an interrupted execution that this one has caught up with
        shutil.rmtree(path)
    temporary.rename(path)
    sync_directory(path.parent)
    return path


def read_run(path: Path) -> dict[str, Any]:
    """What a checkpoint knows of the run.

    Raises:
        UserError: the file is missing or damaged.
    """
    try:
        content: dict[str, Any] = json.loads((path / _RUN).read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(path / _RUN, error) from None
    return content


def read_learner(path: Path, learner: int) -> LearnerState:
    """A learner's state, onto the CPU.

    Raises:
        UserError: the file is missing or damaged.
    """
    file_path = _learner(path, learner)
    try:
        with safe_open(file_path, framework="pt") as file:
            numbers = json.loads(file.metadata()["numbers"])
            return LearnerState({name: file.get_tensor(name) for name in file.keys()}, numbers)  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise _damaged(file_path, error) from None


def latest_checkpoint(folder: Path) -> Path | None:
    """The checkpoint of the highest step, or None."""
    return max(folder.glob("step-*"), default=None)


def prune_checkpoints(folder: Path, best: int | None) -> None:
    """Keep the last two checkpoints and the best one; remove others, and what an interrupted write left."""
    paths = sorted(folder.glob("step-*"))
    for path in paths[:-2]:
        if best is None or path.name != f"step-{best:08d}":
            shutil.rmtree(path)
    for leftover in folder.glob(".*.tmp"):
        shutil.rmtree(leftover)


def remove_checkpoints_after(folder: Path, step: int) -> None:
    """Remove checkpoints of later steps."""
    for path in folder.glob("step-*"):
        if int(path.name.removeprefix("step-")) > step:
            shutil.rmtree(path)


def _learner(path: Path, learner: int) -> Path:
    return path / f"learner-{learner:04d}.safetensors"


def _damaged(path: Path, error: Exception) -> UserError:
    return UserError(
        f"{path}: not of a checkpoint, or damaged ({error}); remove {path.parent} to go on from an older one"
    )
