"""MNIST from its four files, which are read here; torchvision fetches them where they are missing."""

from pathlib import Path

import numpy as np

from gossipgan.config import DataSettings
from gossipgan.data.sources.arrays import ArraySource
from gossipgan.data.sources.base import Source
from gossipgan.data.sources.fetch import dataset_folder, fetch
from gossipgan.data.sources.idx import read_idx
from gossipgan.errors import UserError

DIGITS = tuple("0123456789")

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def open_source(settings: DataSettings) -> Source:
    """60,000 + 10,000 grey pictures of 28 x 28 pixels in ten classes.

    The four files, with or without ``.gz``, may lie in ``data.path`` itself or in torchvision's ``MNIST/raw``
    below it. Other sets that come under these names (Fashion-MNIST, KMNIST) are read as well.

    Raises:
        UserError: files are missing or damaged.
    """
    folder = dataset_folder(settings)
    files = _find(folder)
    if len(files) < len(FILES):
        missing = ", ".join(f"{name}.gz" for name in FILES if name not in files)
        wanted = f"put {missing} (or unpacked, without .gz) there"
        fetch(settings, folder, wanted, _download)
        files = _find(folder)
    train_images, train_labels, test_images, test_labels = (
        read_idx(files[name], axes=3 if "images" in name else 1) for name in FILES
    )
    for name, images, labels in (
        (FILES[1], train_images, train_labels),
        (FILES[3], test_images, test_labels),
    ):
        if len(images) != len(labels):
            raise UserError(
                f"{files[name]}: {len(labels)} labels for {len(images)} pictures; the files do not belong together"
            )
        if labels.size and labels.max() >= len(DIGITS):
            raise UserError(f"{files[name]}: label {labels.max()}; 0 to 9 are wanted")
    return ArraySource(
        str(folder),
        train_images,
        test_images,
        np.concatenate([train_labels, test_labels]).astype(np.int64),
        DIGITS,
        names=(FILES[0], FILES[2]),
    )


def _find(folder: Path) -> dict[str, Path]:
    """Those of the four files that are there, by name without ``.gz``."""
    return {
        name: file
        for name in FILES
        for suffix in (".gz", "")
        for below in ("MNIST/raw", "")
        if (file := folder / below / f"{name}{suffix}").is_file()
    }


def _download(folder: Path) -> None:
    from torchvision.datasets import MNIST

    MNIST(str(folder), download=True)
