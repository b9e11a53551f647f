import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gossipgan.config import DataSettings
from gossipgan.data import Store, prepare
from gossipgan.data.sources.images import arrange
from gossipgan.errors import UserError


def png(value: int, size: int = 8) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (size, size), value).save(stream, "PNG")
    return stream.getvalue()


def write_folder(path: Path, names: Iterable[str]) -> Path:
    """Picture n of the names is all n."""
    for value, name in enumerate(names):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(png(value))
    return path


def write_zip(path: Path, names: Iterable[str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for value, name in enumerate(names):
            archive.writestr(name, png(value))
    return path


def of(path: Path, **values: object) -> DataSettings:
    return DataSettings.model_validate({"source": "images", "path": str(path), "size": 8, **values})


@pytest.mark.parametrize("test", ["test", "held_out", "val"])
@pytest.mark.parametrize("top", ["", "wrapped/"])
def test_folders_train_and_test_are_the_split_and_the_next_the_class(tmp_path: Path, test: str, top: str) -> None:
    names = [f"{top}{part}/{kind}/{n}.png" for part in ("train", test) for kind in "ab" for n in range(5)]
    for path in (write_folder(tmp_path / "folder", names), write_zip(tmp_path / "a.zip", names)):
        manifest = prepare(of(path), tmp_path / "out")
        assert manifest.split == "own"
        assert manifest.classes == ("a", "b")
        store = Store.open(tmp_path / "out")
        assert sorted(store.images("train")[:, 0, 0, 0]) == list(range(10))
        assert sorted(store.images("held_out")[:, 0, 0, 0]) == list(range(10, 20))
        for split in ("train", "held_out"):
            assert np.array_equal(store.labels(split), store.images(split)[:, 0, 0, 0] // 5 % 2)


@pytest.mark.parametrize(
    ("names", "own_test", "classes"),
    [
        (["1.png", "2.png"], 0, []),
        (["photos/1.png", "photos/2.png"], 0, []),
        (["a/1.png", "b/2.png"], 0, ["a", "b"]),
        (["top/a/1.png", "top/b/2.png"], 0, ["a", "b"]),
        (["a/x/1.png", "b/x/2.png"], 0, ["a/x", "b/x"]),
        (["train/1.png", "test/2.png"], 1, []),
        (["train/a/1.png", "test/a/2.png"], 1, []),
        (["train/a/1.png", "test/a/2.png", "val/b/3.png"], 2, ["a", "a", "b"]),
        (["train/a/1.png", "train/b/2.png"], 0, ["a", "b"]),
        (["train/1.png", "test/2.png", "ship/3.png"], 0, ["train", "test", "ship"]),
    ],
)
def test_split_and_classes_follow_the_folders(names: list[str], own_test: int, classes: list[str]) -> None:
    arrangement = arrange(names, "here")
    assert arrangement.own_test == own_test
    assert sorted(arrangement.names) == sorted(names)
    found = dict(zip(arrangement.names, arrangement.class_of, strict=bool(classes)))
    assert [found[name] for name in names if classes] == classes


part = st.sampled_from(["train", "test", "val", "a", "b"])


@given(folders=st.lists(st.lists(part, max_size=3), min_size=1, max_size=12), data=st.data())
def test_any_arrangement_keeps_every_picture_whatever_the_order(folders: list[list[str]], data: st.DataObject) -> None:
    names = ["/".join([*folder, f"{n}.png"]) for n, folder in enumerate(folders)]
    try:
        arrangement = arrange(names, "here")
    except UserError:
        return  # pictures beside class folders, which has its own test
    assert sorted(arrangement.names) == sorted(names)
    assert arrange(data.draw(st.permutations(names)), "here") == arrangement
    assert 0 <= arrangement.own_test < len(names)
    assert len(set(arrangement.class_of)) != 1


def test_pictures_beside_class_folders_are_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "f", ["a/1.png", "b/2.png", "3.png"])
    with pytest.raises(UserError, match=r"3\.png is in no class folder"):
        prepare(of(tmp_path / "f"), tmp_path / "out")


def test_other_files_and_hidden_ones_are_left_alone(tmp_path: Path) -> None:
    names = [f"{n}.PNG" for n in range(5)]
    write_folder(tmp_path / "f", names)
    (tmp_path / "f/README.txt").write_text("about")
    (tmp_path / "f/._0.png").write_text("resource fork")
    write_zip(tmp_path / "a.zip", names)
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("__MACOSX/0.png", b"resource fork")
        archive.writestr("readme.md", b"about")
    for path in ("f", "a.zip"):
        assert prepare(of(tmp_path / path), tmp_path / "out").counts == {"train": 4, "held_out": 1}


def test_links_to_folders_are_followed_and_loops_end(tmp_path: Path) -> None:
    write_folder(tmp_path / "elsewhere", [f"{n}.png" for n in range(5)])
    (tmp_path / "f").mkdir()
    (tmp_path / "f/a").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/back").symlink_to(tmp_path / "f")
    assert prepare(of(tmp_path / "f"), tmp_path / "out").counts == {"train": 4, "held_out": 1}


@pytest.mark.parametrize("how", ["missing", "empty folder", "empty zip", "no zip", "cut zip", "no path"])
def test_a_path_without_pictures_is_refused_in_one_line(tmp_path: Path, how: str) -> None:
    path = tmp_path / "in"
    if how == "empty folder":
        path.mkdir()
    elif how == "empty zip":
        write_zip(path, [])
    elif how == "no zip":
        path.write_text("hello")
    elif how == "cut zip":
        write_zip(path, ["1.png"] * 1)
        path.write_bytes(path.read_bytes()[:-30])
    settings = DataSettings(source="images", size=8) if how == "no path" else of(path)
    says = {
        "missing": "no such file or folder",
        "empty folder": "no pictures",
        "empty zip": "no pictures",
        "no zip": "not a zip",
        "cut zip": "not a zip",
        "no path": "needs a path",
    }[how]
    with pytest.raises(UserError, match=says) as error:
        prepare(settings, tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_damaged_member_of_a_zip_is_named(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", [f"{n}.png" for n in range(10)])
    content = path.read_bytes()
    start = content.index(png(4))
    path.write_bytes(content[: start + 40] + b"\xff\xff" + content[start + 42 :])
    with pytest.raises(UserError, match=r"a\.zip: 4\.png: damaged in the zip"):
        prepare(of(path), tmp_path / "out")
    manifest = prepare(of(path, skip_bad=True), tmp_path / "out")
    assert [entry.name for entry in manifest.skipped] == ["4.png"]


def test_an_encrypted_member_is_said_to_be_so(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", [f"{n}.png" for n in range(5)])
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag in the first member's own header
    content[content.index(b"PK\x01\x02") + 8] |= 1  # and in the central directory
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"0\.png: encrypted"):
        prepare(of(path), tmp_path / "out")


def test_names_that_are_not_utf8_can_be_written_down(tmp_path: Path) -> None:
    write_folder(tmp_path / "f", [f"{n}.png" for n in range(9)])
    try:
        (tmp_path / "f" / b"\xe9.png".decode("utf-8", "surrogateescape")).write_bytes(b"bad")
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    manifest = prepare(of(tmp_path / "f", skip_bad=True), tmp_path / "out")
    assert [entry.name for entry in manifest.skipped] == ["\\xe9.png"]
    Store.open(tmp_path / "out")


def test_grey_and_colour_pictures_mix(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "f", [f"{n}.png" for n in range(5)])
    Image.new("RGB", (8, 8), (10, 20, 30)).save(folder / "5.png")
    assert prepare(of(folder, channels=3), tmp_path / "out").shape == (3, 8, 8)
    assert prepare(of(folder, channels=1), tmp_path / "out").shape == (1, 8, 8)
