"""Street View House Numbers (cropped digits), read and fetched by torchvision."""

import numpy as np

from gossipgan.config import DataSettings
from gossipgan.data.sources.arrays import ArraySource
from gossipgan.data.sources.base import Source
from gossipgan.data.sources.fetch import dataset_folder, fetch
from gossipgan.data.sources.mnist import DIGITS
from gossipgan.errors import UserError


def open_source(settings: DataSettings) -> Source:
    """73,257 + 26,032 RGB pictures of 32 x 32 pixels in ten classes; the extra pictures are not used.

    ``data.path`` holds ``train_32x32.mat`` and ``test_32x32.mat``.

    Raises:
        UserError: files are missing or damaged.
    """
    from torchvision.datasets import SVHN

    folder = dataset_folder(settings)
    names = [SVHN.split_list[part][1] for part in ("train", "test")]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        fetch(
            settings,
            folder,
            f"put {' and '.join(missing)} there",
            lambda into: [SVHN(str(into), split=part, download=True) for part in ("train", "test")],
        )
    parts = []
    for part, name in zip(("train", "test"), names, strict=True):
        try:
            parts.append(SVHN(str(folder), split=part))
        except RuntimeError:
            raise UserError(
                f"{folder / name}: damaged: its MD5 is not the published one; fetch the file again"
            ) from None
    train, test = parts
    return ArraySource(
        str(folder),
        train.data.transpose(0, 2, 3, 1),
        test.data.transpose(0, 2, 3, 1),
        np.concatenate([train.labels, test.labels]).astype(np.int64),
        DIGITS,
        names=(names[0], names[1]),
    )
