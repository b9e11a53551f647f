"""The reader is torchvision's own; only the published MD5s give way to those of our small files."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from torchvision.datasets import SVHN

from gossipgan.config import DataSettings
from gossipgan.data import Store, prepare
from gossipgan.errors import UserError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files in SVHN's own layout: pixels (32, 32, 3, N), and the label 10 for the digit 0."""
    folder = tmp_path / "svhn"
    folder.mkdir()
    listed = dict(SVHN.split_list)
    for part, numbers in (("train", np.arange(20)), ("test", np.arange(20, 30))):
        file = folder / f"{part}_32x32.mat"
        pixels = np.broadcast_to(numbers, (32, 32, 3, len(numbers))).astype(np.uint8)
        pixels[:, :, 1] += 100
        savemat(file, {"X": pixels, "y": np.where(numbers % 10 == 0, 10, numbers % 10)[:, None]})
        listed[part] = [listed[part][0], file.name, hashlib.md5(file.read_bytes()).hexdigest()]
    monkeypatch.setattr(SVHN, "split_list", listed)
    return folder


def settings(path: Path) -> DataSettings:
    return DataSettings(source="svhn", path=str(path), size=32, channels=3, download=False)


def test_files_in_the_folder_are_read(folder: Path, tmp_path: Path) -> None:
    prepare(settings(folder), tmp_path / "out")
    store = Store.open(tmp_path / "out")
    assert store.manifest.split == "own"
    for split, numbers in (("train", range(20)), ("held_out", range(20, 30))):
        red = store.images(split)[:, 0, 3, 3]
        assert sorted(red) == list(numbers)
        assert np.array_equal(store.images(split)[:, 1, 9, 9], red + 100)
        assert np.array_equal(store.labels(split), red % 10)


def test_a_damaged_file_is_named(folder: Path, tmp_path: Path) -> None:
    file = folder / "test_32x32.mat"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"test_32x32\.mat: damaged"):
        prepare(settings(folder), tmp_path / "out")


def test_offline_one_line_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"put train_32x32\.mat and test_32x32\.mat there .*data\.path"):
        prepare(settings(tmp_path), tmp_path / "out")
