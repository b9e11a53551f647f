import gzip
import hashlib
import struct
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from torchvision.datasets import MNIST

from gossipgan.config import DataSettings
from gossipgan.data import Store, prepare
from gossipgan.data.sources.mnist import FILES
from gossipgan.errors import UserError


def write(folder: Path, suffix: str = ".gz", train: int = 30, test: int = 10) -> Path:
    """The four files with pictures of 28 x 28, where picture n is all n and has label n modulo 10."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        numbers = np.arange(train) if "train" in name else np.arange(train, train + test)
        if "images" in name:
            pixels = np.broadcast_to(numbers[:, None, None], (len(numbers), 28, 28))
            content = struct.pack(">IIII", 0x803, len(numbers), 28, 28) + pixels.astype(np.uint8).tobytes()
        else:
            content = struct.pack(">II", 0x801, len(numbers)) + (numbers % 10).astype(np.uint8).tobytes()
        (folder / f"{name}{suffix}").write_bytes(gzip.compress(content, mtime=0) if suffix else content)
    return folder


def settings(path: Path, **values: object) -> DataSettings:
    return DataSettings.model_validate({"source": "mnist", "path": str(path), "download": False, **values})


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("below", ["", "MNIST/raw"])
def test_files_are_found_raw_or_zipped_here_or_in_torchvisions_folder(tmp_path: Path, suffix: str, below: str) -> None:
    write(tmp_path / "mnist" / below, suffix)
    manifest = prepare(settings(tmp_path / "mnist"), tmp_path / "out")
    assert manifest.split == "own"
    assert manifest.counts == {"train": 30, "held_out": 10}
    store = Store.open(tmp_path / "out")
    assert sorted(store.images("train")[:, 0, 0, 0]) == list(range(30))
    assert sorted(store.images("held_out")[:, 0, 0, 0]) == list(range(30, 40))
    for split in ("train", "held_out"):
        assert np.array_equal(store.labels(split), store.images(split)[:, 0, 5, 5] % 10)


def test_missing_files_are_named_with_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / "mnist")
    (tmp_path / "mnist/t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(UserError) as error:
        prepare(settings(tmp_path / "mnist"), tmp_path / "out")
    assert "put t10k-labels-idx1-ubyte.gz" in str(error.value)
    assert "data.download is false" in str(error.value)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "mnist") / "train-images-idx3-ubyte.gz"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte\.gz: truncated"):
        prepare(settings(tmp_path / "mnist"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_labels_of_other_pictures_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "mnist")
    (tmp_path / "mnist/t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(struct.pack(">II", 0x801, 3) + b"\1\2\3"))
    with pytest.raises(UserError, match="3 labels for 10 pictures"):
        prepare(settings(tmp_path / "mnist"), tmp_path / "out")


def test_another_size_asks_for_resize_and_resize_gives_it(tmp_path: Path) -> None:
    write(tmp_path / "mnist")
    with pytest.raises(UserError, match=r"28 x 28 pixels, but data.size is 32 x 32; set data.resize: true"):
        prepare(settings(tmp_path / "mnist", size=32), tmp_path / "out")
    manifest = prepare(settings(tmp_path / "mnist", size=32, channels=3, resize=True), tmp_path / "out")
    assert manifest.shape == (3, 32, 32)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server on this machine with small files, as torchvision's mirror."""
    folder = write(tmp_path / "mirror")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Requests are not worth a line."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr(MNIST, "mirrors", [f"http://127.0.0.1:{server.server_port}/"])
    monkeypatch.setattr(
        MNIST,
        "resources",
        [(f"{name}.gz", hashlib.md5((folder / f"{name}.gz").read_bytes()).hexdigest()) for name in FILES],
    )
    yield folder
    server.shutdown()
    server.server_close()
    thread.join()


def test_missing_files_are_downloaded_into_the_folder_and_kept(
    tmp_path: Path, mirror: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    manifest = prepare(settings(tmp_path / "mnist", download=True), tmp_path / "out")
    assert manifest.counts == {"train": 30, "held_out": 10}
    assert [file.name for file in (tmp_path / "mnist").iterdir()] == ["MNIST"]
    assert capfd.readouterr() == ("", "")
    for file in mirror.iterdir():
        file.unlink()
    assert prepare(settings(tmp_path / "mnist", download=True), tmp_path / "again") == manifest


def test_without_a_path_the_users_cache_holds_the_files(
    tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    prepare(DataSettings(source="mnist"), tmp_path / "out")
    assert (tmp_path / "cache/gossipgan/mnist/MNIST/raw").is_dir()


def test_a_download_of_other_content_is_refused(tmp_path: Path, mirror: Path) -> None:
    (mirror / f"{FILES[2]}.gz").write_bytes(b"<html>please log in</html>")
    with pytest.raises(UserError, match="cannot be downloaded"):
        prepare(settings(tmp_path / "mnist", download=True), tmp_path / "out")
    assert not (tmp_path / "mnist").exists()


def test_offline_one_line_says_what_to_put_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MNIST, "mirrors", ["http://127.0.0.1:9/"])  # nothing listens on the discard port
    with pytest.raises(UserError) as error:
        prepare(settings(tmp_path / "new" / "mnist", download=True), tmp_path / "out")
    message = str(error.value)
    assert "\n" not in message
    for part in (str(tmp_path / "new" / "mnist"), *(f"{name}.gz" for name in FILES), "data.path", "mnist-sample"):
        assert part in message
    assert not list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mnist").write_text("")
    with pytest.raises(UserError, match="wants a folder"):
        prepare(settings(tmp_path / "mnist"), tmp_path / "out")
