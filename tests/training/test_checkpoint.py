"""Checkpoint files: complete or absent, pruned to the last two and the best."""

from pathlib import Path

import pytest
import torch

from gossipgan.errors import UserError
from gossipgan.training.checkpoint import latest_checkpoint, load_checkpoint, prune_checkpoints, save_checkpoint


def test_a_checkpoint_gives_back_bits_and_numbers(tmp_path: Path) -> None:
    tensors = {"a": torch.randn(3, 2).t(), "b": torch.tensor(7), "c": torch.tensor([float("nan"), -0.0])}
    numbers = {"step": 12, "draws": {"noise": 3}, "best": None}
    loaded = load_checkpoint(save_checkpoint(tmp_path, 12, tensors, numbers))
    assert loaded.numbers == numbers
    assert all(loaded.tensors[name].numpy().tobytes() == tensors[name].numpy().tobytes() for name in tensors)


def test_equal_states_give_equal_files(tmp_path: Path) -> None:
    state = {"a": torch.arange(5.0)}, {"y": 1, "x": 2}
    one = save_checkpoint(tmp_path / "one", 1, *state).read_bytes()
    assert save_checkpoint(tmp_path / "two", 1, *state).read_bytes() == one


def test_the_last_two_and_the_best_are_kept(tmp_path: Path) -> None:
    for step in (10, 20, 30, 40):
        save_checkpoint(tmp_path, step, {"a": torch.zeros(1)}, {})
    (tmp_path / ".step-00000050.safetensors.1.tmp").touch()
    prune_checkpoints(tmp_path, best=20)
    kept = [f"step-{step:08d}.safetensors" for step in (20, 30, 40)]
    assert sorted(p.name for p in tmp_path.iterdir()) == kept
    assert latest_checkpoint(tmp_path) == tmp_path / kept[-1]


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 20])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, damage: bytes) -> None:
    path = save_checkpoint(tmp_path, 1, {"a": torch.zeros(100)}, {})
    path.write_bytes(damage)
    with pytest.raises(UserError, match=r"step-00000001\.safetensors: not a checkpoint, or damaged"):
        load_checkpoint(path)


def test_a_truncated_file_is_refused_by_name(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, 1, {"a": torch.zeros(100)}, {})
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(UserError, match="damaged"):
        load_checkpoint(path)
