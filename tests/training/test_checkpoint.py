"""Checkpoints: complete or absent, pruned to the last two and the best."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gossipgan.errors import UserError
from gossipgan.training.checkpoint import (
    begin_checkpoint,
    finish_checkpoint,
    latest_checkpoint,
    prune_checkpoints,
    read_learner,
    read_run,
    write_learner,
)

STATE: tuple[dict[str, Tensor], dict[str, Any]] = {"a": torch.arange(5.0)}, {"y": 1, "x": 2}


def _save(folder: Path, step: int, *learners: tuple[dict[str, Tensor], dict[str, Any]]) -> Path:
    temporary = begin_checkpoint(folder, step)
    for number, learner in enumerate(learners or (STATE,)):
        write_learner(temporary, number, *learner)
    return finish_checkpoint(temporary, {"step": step})


def test_a_checkpoint_gives_back_bits_and_numbers_of_every_learner(tmp_path: Path) -> None:
    tensors = {"a": torch.randn(3, 2).t(), "b": torch.tensor(7), "c": torch.tensor([float("nan"), -0.0])}
    numbers = {"step": 12, "draws": {"noise": 3}, "best": None}
    path = _save(tmp_path, 12, STATE, (tensors, numbers))
    assert read_run(path) == {"step": 12}
    loaded = read_learner(path, 1)
    assert loaded.numbers == numbers
    assert all(loaded.tensors[name].numpy().tobytes() == tensors[name].numpy().tobytes() for name in tensors)


def test_equal_states_give_equal_files(tmp_path: Path) -> None:
    one, two = (_save(tmp_path / name, 1) for name in ("one", "two"))
    assert [file.read_bytes() for file in sorted(one.iterdir())] == [
        file.read_bytes() for file in sorted(two.iterdir())
    ]


def test_the_last_two_and_the_best_are_kept(tmp_path: Path) -> None:
    for step in (10, 20, 30, 40):
        _save(tmp_path, step)
    begin_checkpoint(tmp_path, 50)
    prune_checkpoints(tmp_path, best=20)
    kept = [f"step-{step:08d}" for step in (20, 30, 40)]
    assert sorted(p.name for p in tmp_path.iterdir()) == kept
    assert latest_checkpoint(tmp_path) == tmp_path / kept[-1]


def test_an_unfinished_checkpoint_is_none_and_is_begun_anew(tmp_path: Path) -> None:
    write_learner(begin_checkpoint(tmp_path, 1), 7, *STATE)
    assert latest_checkpoint(tmp_path) is None
    assert sorted(file.name for file in _save(tmp_path, 1).iterdir()) == ["learner-0000.safetensors", "run.json"]


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 20])
@pytest.mark.parametrize("file", ["run.json", "learner-0000.safetensors"])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, damage: bytes, file: str) -> None:
    path = _save(tmp_path, 1)
    (path / file).write_bytes(damage)

    def read() -> None:
        read_run(path)
        read_learner(path, 0)

    with pytest.raises(UserError, match=rf"step-00000001/{file}: not of a checkpoint, or damaged"):
        read()


def test_a_truncated_file_is_refused_by_name(tmp_path: Path) -> None:
    file = _save(tmp_path, 1) / "learner-0000.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(UserError, match="damaged"):
        read_learner(file.parent, 0)
