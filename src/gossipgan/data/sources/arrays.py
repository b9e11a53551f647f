"""Pictures that are in memory already, as arrays."""

import numpy as np
import numpy.typing as npt
from PIL import Image

from gossipgan.data.sources.base import Source


class ArraySource(Source):
    """Arrays of pictures as a source.

    Args:
        origin: file or folder that the arrays came from, for messages.
        train: uint8, (N, H, W) grey or (N, H, W, 3) RGB.
        test: the source's own test split in the same form, or None.
        labels: int64, (N + N of the test split,), or None.
        classes: names of the classes; empty without labels.
        names: what to call the two parts.
    """

    def __init__(
        self,
        origin: str,
        train: npt.NDArray[np.uint8],
        test: npt.NDArray[np.uint8] | None = None,
        labels: npt.NDArray[np.int64] | None = None,
        classes: tuple[str, ...] = (),
        names: tuple[str, str] = ("train", "test"),
    ) -> None:
        self.own_test = 0 if test is None else len(test)
        self.classes = classes
        self.labels = labels
        self._origin = origin
        self._train = train
        self._test = test
        self._names = names

    def __len__(self) -> int:
        return len(self._train) + self.own_test

    def name(self, index: int) -> str:
        part, within = (0, index) if index < len(self._train) else (1, index - len(self._train))
        return f"{self._names[part]}[{within}]"

    def where(self, index: int) -> str:
        return f"{self._origin}: {self.name(index)}"

    def read(self, index: int) -> Image.Image:
        if index < len(self._train) or self._test is None:
            return Image.fromarray(self._train[index])
        return Image.fromarray(self._test[index - len(self._train)])
