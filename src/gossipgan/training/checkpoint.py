"""Checkpoints: everything a run needs to go on as if it had never stopped.

A checkpoint is one safetensors file, ``step-00000500.safetensors``: tensors by name, and in its metadata a JSON text
with all else. It is written beside its place, flushed and renamed, so that a file that has the name is complete.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gossipgan.errors import UserError
from gossipgan.runs import atomic


class Checkpoint(NamedTuple):
    """What one file holds."""

    tensors: dict[str, Tensor]
    numbers: dict[str, Any]


def save_checkpoint(folder: Path, step: int, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> Path:
    """Write the checkpoint of a step. Tensors are stored as they lie, so that equal states give equal files."""
    path = folder / f"step-{step:08d}.safetensors"
    with atomic(path) as temporary:
        save_file(
            {name: tensor.detach().contiguous() for name, tensor in tensors.items()},
            temporary,
            metadata={"numbers": json.dumps(numbers, sort_keys=True)},
        )
    return path


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint, onto the CPU.

    Raises:
        UserError: the file is damaged.
    """
    try:
        with safe_open(path, framework="pt") as file:
            numbers = json.loads(file.metadata()["numbers"])
            return Checkpoint({name: file.get_tensor(name) for name in file.keys()}, numbers)  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise UserError(
            f"{path}: not a checkpoint, or damaged ({error}); remove it to go on from an older one"
        ) from None


def latest_checkpoint(folder: Path) -> Path | None:
    """The checkpoint of the highest step, or None."""
    return max(folder.glob("step-*.safetensors"), default=None)


def prune_checkpoints(folder: Path, best: int | None) -> None:
    """Keep the last two checkpoints and the best one; remove others, and what an interrupted write left."""
    paths = sorted(folder.glob("step-*.safetensors"))
    for path in paths[:-2]:
        if best is None or path.name != f"step-{best:08d}.safetensors":
            path.unlink()
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink()
