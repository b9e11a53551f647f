import json
from pathlib import Path

import numpy as np
import pytest

from gossipgan.config import DataSettings
from gossipgan.data import Store, prepare
from gossipgan.errors import UserError

FILES = ("held_out-images.npy", "held_out-labels.npy", "train-images.npy", "train-labels.npy")


@pytest.fixture
def store(picture_folder: Path, tmp_path: Path) -> Path:
    out = tmp_path / "store"
    prepare(DataSettings(source="images", path=str(picture_folder), size=8), out)
    return out


def test_arrays_are_memory_mapped_read_only_and_of_the_promised_types(store: Path) -> None:
    opened = Store.open(store)
    for split, count in (("train", 20), ("held_out", 4)):
        images, labels = opened.images(split), opened.labels(split)
        assert isinstance(images, np.memmap)
        assert isinstance(labels, np.memmap)
        assert not images.flags.writeable
        assert images.dtype == np.uint8
        assert images.shape == (count, 1, 8, 8)
        assert labels.dtype == np.int64
        assert labels.shape == (count,)
    assert opened.digest == opened.manifest.digest


@pytest.mark.parametrize("name", FILES)
def test_one_changed_bit_is_found_and_its_file_named(store: Path, name: str) -> None:
    content = bytearray((store / name).read_bytes())
    content[-1] ^= 1
    (store / name).write_bytes(content)
    with pytest.raises(UserError, match=f"{name}: damaged"):
        Store.open(store)
    assert Store.open(store, verify=False).manifest.counts["train"] == 20


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("keep", [0, 5, 127, 140])
def test_a_cut_file_is_found_and_named(store: Path, keep: int, verify: bool) -> None:
    file = store / "train-images.npy"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"train-images\.npy: damaged"):
        Store.open(store, verify=verify)


def test_an_array_of_another_type_or_shape_is_found_without_reading_it_all(store: Path) -> None:
    np.save(store / "train-images.npy", np.zeros((20, 1, 8, 9), dtype=np.uint8))
    with pytest.raises(UserError, match=r"train-images\.npy: damaged"):
        Store.open(store, verify=False)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(store: Path, name: str) -> None:
    (store / name).unlink()
    with pytest.raises(UserError, match=f"{name}: missing"):
        Store.open(store)


def test_a_pickle_in_place_of_an_array_is_not_loaded(store: Path) -> None:
    np.save(store / "train-images.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match=r"train-images\.npy: damaged"):
        Store.open(store, verify=False)


def test_a_folder_without_a_store_is_said_to_be_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UserError, match="not a prepared store"):
            Store.open(path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"counts": {"train": 19, "held_out": 5}}, "digest"),
        ({"classes": ["dog", "cat"]}, "digest"),
        ({"classes": []}, "does not fit"),
        ({"shape": [1, 8]}, "shape"),
        ({"extra": 1}, "extra"),
        ({"digest": "0" * 64}, "digest"),
        ({"files": {}}, "files"),
    ],
)
def test_a_changed_manifest_is_found(store: Path, change: dict[str, object], says: str) -> None:
    file = store / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(UserError, match=says) as error:
        Store.open(store)
    assert "\n" not in str(error.value)


def test_a_manifest_that_is_not_json_is_found(store: Path) -> None:
    (store / "manifest.json").write_text('{"source": ')
    with pytest.raises(UserError, match=r"manifest\.json: damaged"):
        Store.open(store)


def test_pictures_without_labels_say_so(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((10, 8, 8), dtype=np.uint8))
    prepare(DataSettings(source="npz", path=str(tmp_path / "a.npz"), size=8), tmp_path / "out")
    opened = Store.open(tmp_path / "out")
    assert not opened.manifest.has_labels
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "held_out-images.npy",
        "manifest.json",
        "train-images.npy",
    ]
    with pytest.raises(UserError, match="no labels"):
        opened.labels("train")
