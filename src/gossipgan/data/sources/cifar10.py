"""CIFAR-10, read and fetched by torchvision."""

import tarfile
import tempfile
from pathlib import Path

import numpy as np

from gossipgan.config import DataSettings
from gossipgan.data.sources.arrays import ArraySource
from gossipgan.data.sources.base import Source
from gossipgan.data.sources.fetch import dataset_folder, fetch
from gossipgan.errors import UserError


def open_source(settings: DataSettings) -> Source:
    """50,000 + 10,000 RGB pictures of 32 x 32 pixels in ten classes.

    ``data.path`` holds ``cifar-10-batches-py`` or is that folder, or holds ``cifar-10-python.tar.gz``. The
    batches are pickles: torchvision compares their MD5 with the published ones before it loads them,
    so that no other pickle is ever loaded.

    Raises:
        UserError: files are missing or damaged.
    """
    from torchvision.datasets import CIFAR10

    folder = dataset_folder(settings)
    archive = folder / CIFAR10.filename
    if folder.name == CIFAR10.base_folder:
        folder = folder.parent
    batches = folder / CIFAR10.base_folder
    if not batches.is_dir() and archive.is_file():
        return _from_archive(archive)
    if not batches.is_dir():
        wanted = f"put {CIFAR10.filename} or the folder {CIFAR10.base_folder} there"
        fetch(settings, folder, wanted, lambda into: CIFAR10(str(into), download=True))
    return _read(folder)


def _from_archive(archive: Path) -> Source:
    with tempfile.TemporaryDirectory() as unpacked:
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(unpacked, filter="data")
        except (tarfile.TarError, EOFError, OSError) as error:
            raise UserError(
                f"{archive}: damaged, or not a tar.gz ({' '.join(str(error).split())}); fetch it again"
            ) from None
        return _read(Path(unpacked), origin=archive)


def _read(folder: Path, origin: Path | None = None) -> Source:
    from torchvision.datasets import CIFAR10

    origin = origin or folder / CIFAR10.base_folder
    try:
        train, test = (CIFAR10(str(folder), train=part) for part in (True, False))
    except RuntimeError:
        names = [name for name, _ in (*CIFAR10.train_list, *CIFAR10.test_list)]
        missing = [name for name in names if not (folder / CIFAR10.base_folder / name).is_file()]
        state = f"without {', '.join(missing)}" if missing else "a file's MD5 is not the published one"
        raise UserError(f"{origin}: incomplete or damaged CIFAR-10: {state}; fetch {CIFAR10.filename} again") from None
    return ArraySource(
        str(origin),
        train.data,
        test.data,
        np.array([*train.targets, *test.targets], dtype=np.int64),
        tuple(train.classes),
    )
