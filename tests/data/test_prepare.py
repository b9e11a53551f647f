import hashlib
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gossipgan.config import DataSettings
from gossipgan.data import Store, prepare
from gossipgan.errors import UserError


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def settings(path: Path, **values: object) -> DataSettings:
    return DataSettings.model_validate({"source": "images", "path": str(path), "size": 8, **values})


def test_every_picture_is_in_one_split_with_its_own_label(picture_folder: Path, tmp_path: Path) -> None:
    manifest = prepare(settings(picture_folder), tmp_path / "out")
    store = Store.open(tmp_path / "out")
    images = np.concatenate([store.images("train"), store.images("held_out")])
    labels = np.concatenate([store.labels("train"), store.labels("held_out")])
    numbers = images[:, 0, 0, 0]
    assert sorted(numbers) == list(range(24))
    assert np.array_equal(images, np.broadcast_to(numbers[:, None, None, None], images.shape))
    assert np.array_equal(labels, numbers >= 12)
    assert manifest.classes == ("cat", "dog")
    assert manifest.counts == {"train": 20, "held_out": 4}
    assert manifest.split == "drawn"
    assert manifest == store.manifest


def test_preparing_again_elsewhere_gives_the_same_bytes(picture_folder: Path, tmp_path: Path) -> None:
    prepare(settings(picture_folder), tmp_path / "one")
    moved = tmp_path / "elsewhere"
    # Copied in another order, so that the folder's listing differs.
    for file in sorted(picture_folder.rglob("*.png"), reverse=True):
        target = moved / file.relative_to(picture_folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    prepare(settings(moved), tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_zip_of_a_folder_gives_the_same_store_as_the_folder(picture_folder: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "pictures")
    prepare(settings(picture_folder), tmp_path / "one")
    prepare(settings(Path(archive)), tmp_path / "two")
    assert Store.open(tmp_path / "one").digest == Store.open(tmp_path / "two").digest


def test_hashes_in_the_manifest_are_those_of_the_files(picture_folder: Path, tmp_path: Path) -> None:
    manifest = prepare(settings(picture_folder), tmp_path / "out")
    assert len(manifest.files) == 4
    for name, digest in manifest.files.items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == digest
    assert json.loads((tmp_path / "out/manifest.json").read_text())["digest"] == manifest.digest


def test_the_digest_follows_the_content(picture_folder: Path, tmp_path: Path) -> None:
    first = prepare(settings(picture_folder), tmp_path / "out").digest
    other_seed = prepare(settings(picture_folder, split_seed=1), tmp_path / "out").digest
    (picture_folder / "cat").rename(picture_folder / "animal")
    other_class = prepare(settings(picture_folder), tmp_path / "out").digest
    Image.new("L", (8, 8), 200).save(picture_folder / "animal/00.png")
    other_pixel = prepare(settings(picture_folder), tmp_path / "out").digest
    assert len({first, other_seed, other_class, other_pixel}) == 4


def test_limit_and_held_out_count_pictures(picture_folder: Path, tmp_path: Path) -> None:
    manifest = prepare(settings(picture_folder, limit=7, held_out=9), tmp_path / "out")
    assert manifest.counts == {"train": 7, "held_out": 9}
    store = Store.open(tmp_path / "out")
    assert not set(store.images("train")[:, 0, 0, 0]) & set(store.images("held_out")[:, 0, 0, 0])


def test_without_resize_another_size_is_refused_by_name(picture_folder: Path, tmp_path: Path) -> None:
    Image.new("L", (9, 10)).save(picture_folder / "cat/05.png")
    with pytest.raises(UserError) as error:
        prepare(settings(picture_folder), tmp_path / "out")
    for part in ("cat/05.png", "9 x 10", "8 x 8", "data.resize: true"):
        assert part in str(error.value)
    prepare(settings(picture_folder, resize=True), tmp_path / "out")


def test_a_truncated_picture_is_refused_by_name_and_nothing_is_left(picture_folder: Path, tmp_path: Path) -> None:
    file = picture_folder / "dog/20.png"
    file.write_bytes(file.read_bytes()[:-30])
    before = set(tmp_path.iterdir())
    with pytest.raises(UserError, match=r"dog/20\.png: truncated or damaged") as error:
        prepare(settings(picture_folder), tmp_path / "out")
    assert "data.skip_bad" in str(error.value)
    assert "\n" not in str(error.value)
    assert set(tmp_path.iterdir()) == before


def test_skip_bad_leaves_pictures_out_and_lists_them(picture_folder: Path, tmp_path: Path) -> None:
    (picture_folder / "cat/03.png").write_bytes(b"")
    (picture_folder / "dog/15.png").write_bytes(b"not a picture")
    good = set(range(24)) - {3, 15}
    for seed in range(6):  # so that bad pictures fall into either split
        manifest = prepare(settings(picture_folder, skip_bad=True, split_seed=seed), tmp_path / "out")
        assert [(entry.name, entry.reason) for entry in manifest.skipped] == [
            ("cat/03.png", "an empty file"),
            ("dog/15.png", "not a picture that can be read"),
        ]
        assert manifest.counts == {"train": 18, "held_out": 4}
        store = Store.open(tmp_path / "out")
        train, held_out = (store.images(split)[:, 0, 0, 0].tolist() for split in ("train", "held_out"))
        assert sorted(train + held_out) == sorted(good)
        for split in ("train", "held_out"):
            assert np.array_equal(store.labels(split), store.images(split)[:, 0, 0, 0] >= 12)


def test_skipping_down_to_too_few_is_refused(picture_folder: Path, tmp_path: Path) -> None:
    for file in sorted(picture_folder.rglob("*.png"))[3:]:
        file.write_bytes(b"x")
    with pytest.raises(UserError, match="21 could not be read"):
        prepare(settings(picture_folder, skip_bad=True, held_out=4), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_old_store_stays_until_the_new_one_is_whole(picture_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare(settings(picture_folder), out)
    before = content(out)
    (picture_folder / "cat/03.png").write_bytes(b"x")
    with pytest.raises(UserError):
        prepare(settings(picture_folder), out)
    assert content(out) == before
    prepare(settings(picture_folder, skip_bad=True), out)
    assert Store.open(out).manifest.counts["train"] == 19
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_no_store_is_not_replaced(picture_folder: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "mine"
    if kind == "file":
        out.write_text("dear to me")
    else:
        out.mkdir()
        (out / "thesis.tex").write_text("dear to me")
    with pytest.raises(UserError, match="mine"):
        prepare(settings(picture_folder), out)
    assert (out if kind == "file" else out / "thesis.tex").read_text() == "dear to me"


def test_a_place_that_cannot_be_written_is_said_in_one_line(picture_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        prepare(settings(picture_folder), tmp_path / "file" / "out")


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no way to reserve blocks here")
def test_a_full_disk_is_an_error_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """A file size limit of the process stands for the disk: writing beyond it fails in the same call."""
    np.savez_compressed(tmp_path / "a.npz", images=np.zeros((5000, 32, 32), dtype=np.uint8))
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from gossipgan.config import DataSettings; from gossipgan.data import prepare\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
        "try: prepare(DataSettings(source='npz', path=sys.argv[1], size=32), Path(sys.argv[2]))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a.npz"), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("UserError")
    assert "cannot be written" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_memory_does_not_grow_with_the_number_of_pictures(tmp_path: Path) -> None:
    archive = tmp_path / "many.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        Image.new("RGB", (64, 64), (1, 2, 3)).save(tmp_path / "one.png")
        for number in range(1000):
            opened.write(tmp_path / "one.png", f"{number}.png")
    tracemalloc.start()
    try:
        prepare(settings(archive, size=64, channels=3), tmp_path / "out")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 1000 * 3 * 64 * 64 > 12_000_000  # what the arrays hold
    assert peak < 4_000_000


def test_nothing_is_printed_and_torch_is_not_loaded(picture_folder: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from gossipgan.config import DataSettings; from gossipgan.data import prepare\n"
        "prepare(DataSettings(source='images', path=sys.argv[1], size=8), Path(sys.argv[2]))\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(picture_folder), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    assert done.stderr == ""
