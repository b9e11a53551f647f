"""What a source of pictures is."""

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt
from PIL import Image

from gossipgan.config import DataSettings
from gossipgan.errors import UserError


class BadPicture(Exception):  # noqa: N818 - it is the picture that is bad
    """One picture cannot be read. The message says why, in words that are the same on every machine."""


class Source(ABC):
    """Pictures in a fixed order that does not depend on the machine, read one at a time.

    Attributes:
        own_test: how many pictures, at the end of the order, form the source's own test split; 0 without one.
        classes: names of the classes; empty without labels.
        labels: int64 (N,), indices into ``classes``; None without labels.
    """

    own_test: int
    classes: tuple[str, ...]
    labels: npt.NDArray[np.int64] | None

    @abstractmethod
    def __len__(self) -> int:
        """Number of pictures, those of the test split included."""

    @abstractmethod
    def name(self, index: int) -> str:
        """A picture's name within the source: for the manifest, so without the source's own path."""

    @abstractmethod
    def where(self, index: int) -> str:
        """Where to find a picture: for a message to a person."""

    @abstractmethod
    def read(self, index: int) -> Image.Image:
        """A picture in mode L or RGB.

        Raises:
            BadPicture: it cannot be read.
        """

    def close(self) -> None:
        """Let go of open files."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def given_path(settings: DataSettings, wanted: str) -> Path:
    """The path in the settings, which has to exist.

    Raises:
        UserError: there is none; ``wanted`` says what it would name.
    """
    if settings.path is None:
        raise UserError(f"data.path: source {settings.source} needs a path: {wanted}")
    path = Path(settings.path).expanduser()
    if not path.exists():
        raise UserError(f"data.path: {path}: no such file or folder; source {settings.source} wants {wanted}")
    return path
