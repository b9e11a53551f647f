import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.config import DataSettings
from gossipgan.data import Store, prepare
from gossipgan.errors import UserError

Noise = Callable[..., np.ndarray]


def of(path: Path, channels: int = 1) -> DataSettings:
    return DataSettings.model_validate({"source": "npz", "path": str(path), "size": 8, "channels": channels})


def prepared(path: Path, channels: int = 1) -> Store:
    out = path.parent / "out"
    prepare(of(path, channels), out)
    return Store.open(out)


def all_images(store: Store) -> list[bytes]:
    return sorted(picture.tobytes() for split in ("train", "held_out") for picture in store.images(split))


def test_each_layout_gives_the_same_pictures(tmp_path: Path, noise: Noise) -> None:
    pixels = noise(10, 8, 8, 3)
    expected = sorted(picture.tobytes() for picture in pixels.transpose(0, 3, 1, 2))
    for layout in (pixels, pixels.transpose(0, 3, 1, 2)):
        np.savez(tmp_path / "a.npz", images=layout)
        assert all_images(prepared(tmp_path / "a.npz", channels=3)) == expected


def test_grey_comes_with_and_without_an_axis_for_the_channel(tmp_path: Path, noise: Noise) -> None:
    pixels = noise(10, 8, 8)
    expected = sorted(picture.tobytes() for picture in pixels)
    for layout in (pixels, pixels[..., None], pixels[:, None]):
        np.savez_compressed(tmp_path / "a.npz", images=layout)
        assert all_images(prepared(tmp_path / "a.npz")) == expected


def test_labels_stay_with_their_pictures_and_name_the_classes(tmp_path: Path) -> None:
    numbers = np.arange(30, dtype=np.uint8)
    pixels = np.broadcast_to(numbers[:, None, None], (30, 8, 8))
    labels = np.array([7, 3, 40])[numbers % 3]
    np.savez(tmp_path / "a.npz", images=pixels, labels=labels[:, None])
    store = prepared(tmp_path / "a.npz")
    assert store.manifest.classes == ("3", "7", "40")
    for split in ("train", "held_out"):
        named = [int(store.manifest.classes[label]) for label in store.labels(split)]
        assert named == [labels[number] for number in store.images(split)[:, 0, 0, 0]]


def test_test_arrays_are_the_held_out_split(tmp_path: Path) -> None:
    pixels = np.broadcast_to(np.arange(9, dtype=np.uint8)[:, None, None], (9, 8, 8))
    labels = np.arange(9, dtype=np.uint8)
    np.savez(tmp_path / "a.npz", x_train=pixels[:6], y_train=labels[:6], x_test=pixels[6:], y_test=labels[6:])
    store = prepared(tmp_path / "a.npz")
    assert store.manifest.split == "own"
    assert sorted(store.labels("held_out")) == sorted(store.images("held_out")[:, 0, 0, 0]) == [6, 7, 8]
    np.savez(tmp_path / "a.npz", x_train=pixels)
    assert prepared(tmp_path / "a.npz").manifest.split == "drawn"


OK = np.zeros((10, 8, 8), dtype=np.uint8)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"images": OK.astype(np.float32)}, "images: type float32; uint8"),
        ({"images": OK[0]}, r"images: shape \(8, 8\)"),
        ({"images": np.zeros((10, 8, 8, 4), dtype=np.uint8)}, r"images: shape \(10, 8, 8, 4\)"),
        ({"images": np.zeros((10, 3, 8, 3), dtype=np.uint8)}, "images: shape"),
        ({"images": OK[:0]}, "images: empty"),
        ({"images": OK[:4]}, "too few pictures"),
        ({"images": np.zeros((10, 8, 9), dtype=np.uint8)}, r"images\[\d\]: 9 x 8 pixels.*data.resize: true"),
        ({"images": np.array([OK, None], dtype=object)}, "images: an array of Python objects"),
        ({"images": OK, "labels": np.array([None] * 10)}, "labels: an array of Python objects"),
        ({"images": OK, "labels": np.zeros(10)}, "labels: float64"),
        ({"images": OK, "labels": np.zeros(9, dtype=int)}, r"labels: int64 of shape \(9,\)"),
        ({"pictures": OK}, "no array images or x_train"),
        ({"x_train": OK, "y_train": np.arange(10), "x_test": OK}, "x_test has no y_test"),
        ({"x_train": OK, "y_test": np.arange(10), "x_test": OK}, "x_train has no y_train"),
        ({}, "no array images|not an .npz"),
    ],
)
def test_wrong_arrays_are_refused_by_name(tmp_path: Path, arrays: dict[str, np.ndarray], says: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(UserError, match=says) as error:
        prepare(of(tmp_path / "a.npz"), tmp_path / "out")
    assert "\n" not in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", OK)
    (tmp_path / "text").write_text("hello")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("images.npy", b"not an array")
    for name, says in (("a.npy", "not an .npz"), ("text", "not an .npz"), ("zip", "images"), (".", "not an")):
        with pytest.raises(UserError, match=says):
            prepare(of(tmp_path / name), tmp_path / "out")
    with pytest.raises(UserError, match="no such file"):
        prepare(of(tmp_path / "nowhere"), tmp_path / "out")
    with pytest.raises(UserError, match="needs a path"):
        prepare(DataSettings(source="npz"), tmp_path / "out")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_archive_is_refused_in_one_line_or_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("npz")
    pixels = np.arange(640, dtype=np.uint16).astype(np.uint8).reshape(10, 8, 8)
    np.savez(folder / "a.npz", images=pixels)
    content = bytearray((folder / "a.npz").read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] ^= data.draw(st.integers(1, 255))
    (folder / "a.npz").write_bytes(content)
    try:
        store = prepared(folder / "a.npz")
    except UserError as error:
        message = str(error)
    else:
        assert all_images(store) == sorted(picture.tobytes() for picture in pixels)
        return
    assert "\n" not in message
    assert not (folder / "out").exists()
