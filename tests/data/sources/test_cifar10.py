"""The reader is torchvision's own; only the published MD5s give way to those of our small batches."""

import hashlib
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from torchvision.datasets import CIFAR10

from gossipgan.config import DataSettings
from gossipgan.data import Store, prepare
from gossipgan.errors import UserError

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = ("data_batch_1", "data_batch_2", "test_batch")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three batches of ten pictures, in which picture n is all n, with red, green and blue planes apart."""
    batches = tmp_path / "cifar" / "cifar-10-batches-py"
    batches.mkdir(parents=True)

    def dump(name: str, content: object) -> tuple[str, str]:
        (batches / name).write_bytes(pickle.dumps(content))
        return name, hashlib.md5((batches / name).read_bytes()).hexdigest()

    listed = []
    for number, name in enumerate(BATCHES):
        rows = np.zeros((10, 3, 1024), dtype=np.uint8)
        rows += np.arange(number * 10, number * 10 + 10, dtype=np.uint8)[:, None, None]
        rows += np.array([0, 100, 200], dtype=np.uint8)[None, :, None]
        listed.append(dump(name, {"data": rows.reshape(10, 3072), "labels": list(range(10))}))
    meta = dump("batches.meta", {"label_names": list(CLASSES)})
    monkeypatch.setattr(CIFAR10, "train_list", [list(entry) for entry in listed[:2]])
    monkeypatch.setattr(CIFAR10, "test_list", [list(listed[2])])
    monkeypatch.setattr(CIFAR10, "meta", {"filename": meta[0], "key": "label_names", "md5": meta[1]})
    return tmp_path / "cifar"


def settings(path: Path) -> DataSettings:
    return DataSettings(source="cifar10", path=str(path), size=32, channels=3, download=False)


def check(out: Path) -> None:
    store = Store.open(out)
    assert store.manifest.counts == {"train": 20, "held_out": 10}
    assert store.manifest.classes == CLASSES
    for split, numbers in (("train", range(20)), ("held_out", range(20, 30))):
        red = store.images(split)[:, 0, 3, 3]
        assert sorted(red) == list(numbers)
        assert np.array_equal(store.images(split)[:, 2, 3, 3], red + 200)
        assert np.array_equal(store.labels(split), red % 10)


def test_the_folder_above_the_batches_or_their_own_is_read(folder: Path, tmp_path: Path) -> None:
    prepare(settings(folder), tmp_path / "out")
    check(tmp_path / "out")
    prepare(settings(folder / "cifar-10-batches-py"), tmp_path / "out")
    check(tmp_path / "out")


def test_the_archive_is_read_where_it_lies(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    with tarfile.open(tmp_path / "archive/cifar-10-python.tar.gz", "w:gz") as tar:
        tar.add(folder / "cifar-10-batches-py", "cifar-10-batches-py")
    prepare(settings(tmp_path / "archive"), tmp_path / "out")
    check(tmp_path / "out")
    assert [file.name for file in (tmp_path / "archive").iterdir()] == ["cifar-10-python.tar.gz"]


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"\x1f\x8b not really")
    with pytest.raises(UserError, match=r"cifar-10-python\.tar\.gz: damaged"):
        prepare(settings(tmp_path), tmp_path / "out")


def test_a_batch_with_another_md5_is_never_unpickled(folder: Path, tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (Path(tmp_path / "harmed"),)  # type: ignore[return-value]

    (folder / "cifar-10-batches-py/data_batch_1").write_bytes(pickle.dumps(Harm()))
    with pytest.raises(UserError, match="MD5"):
        prepare(settings(folder), tmp_path / "out")
    assert not (tmp_path / "harmed").exists()


def test_a_missing_batch_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "cifar-10-batches-py/data_batch_2").unlink()
    with pytest.raises(UserError, match="without data_batch_2"):
        prepare(settings(folder), tmp_path / "out")


def test_offline_one_line_says_what_to_put_where(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"put cifar-10-python\.tar\.gz .*data\.path"):
        prepare(settings(tmp_path / "nowhere"), tmp_path / "out")
    assert not list(tmp_path.iterdir())
