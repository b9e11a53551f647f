"""A folder or a zip of pictures."""

from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from PIL import Image

from gossipgan.config import DataSettings
from gossipgan.data.sources.base import Source, given_path
from gossipgan.data.sources.container import Container, Folder, Zip
from gossipgan.data.sources.decode import decode
from gossipgan.errors import UserError

#: Files with other endings are taken for something else than pictures and left alone.
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")

TRAIN = "train"
TEST = ("test", "held_out", "val")


def open_source(settings: DataSettings) -> Source:
    """The pictures in the folder or zip at ``data.path``, arranged as ``arrange`` says.

    Raises:
        UserError: it is missing, not a zip, or holds no picture.
    """
    path = given_path(settings, "a folder or a zip of pictures")
    container: Container = Folder(path) if path.is_dir() else Zip(path)
    try:
        names = [name for name in container.names if name.lower().endswith(ENDINGS)]
        if not names:
            raise UserError(f"{path}: no pictures in it; files ending in {', '.join(ENDINGS)} are wanted")
        return ImagesSource(container, arrange(names, str(path)))
    except UserError:
        container.close()
        raise


@dataclass(frozen=True)
class Arrangement:
    """Pictures in order, the test split last, and each one's class (no classes: empty)."""

    names: list[str]
    own_test: int
    class_of: list[str]


def arrange(names: list[str], where: str) -> Arrangement:
    """Read the split and the classes from the folders that the pictures are in.

    Folders that all pictures share say nothing and are dropped. If the next folders are ``train`` and one or
    more of ``test``, ``held_out`` and ``val``, and no others, these are the split. The folder below is
    the class (with its path, where folders are nested deeper); one class for all is no class.

    Raises:
        UserError: some pictures are in class folders and others beside them.
    """
    folders = {name: PurePosixPath(name).parent.parts for name in names}
    shared = _shared_length(list(folders.values()))
    below = {name: parts[shared:] for name, parts in folders.items()}
    tops = {parts[0] if parts else "" for parts in below.values()}
    train, test = names, []
    if TRAIN in tops and len(tops) > 1 and tops <= {TRAIN, *TEST}:
        train = [name for name in names if below[name][0] == TRAIN]
        test = [name for name in names if below[name][0] != TRAIN]
        below = {name: parts[1:] for name, parts in below.items()}
    classes = {name: "/".join(parts) for name, parts in below.items()}
    found = set(classes.values())
    if len(found) > 1 and "" in found:
        beside = next(name for name in names if not classes[name])
        raise UserError(
            f"{where}: {beside} is in no class folder, but other pictures are; put all into class folders or none"
        )
    ordered = sorted(train) + sorted(test)
    return Arrangement(ordered, len(test), [classes[name] for name in ordered] if len(found) > 1 else [])


def _shared_length(folders: list[tuple[str, ...]]) -> int:
    """How many leading folders all paths have in common."""
    # What the first and the last in sorted order share, all between them share too.
    first, last = min(folders), max(folders)
    return next(
        (length for length, (a, b) in enumerate(zip(first, last, strict=False)) if a != b),
        min(len(first), len(last)),
    )


class ImagesSource(Source):
    """Pictures in a container, decoded one at a time."""

    def __init__(self, container: Container, arrangement: Arrangement) -> None:
        self._container = container
        self._names = arrangement.names
        self.own_test = arrangement.own_test
        self.classes = tuple(sorted(set(arrangement.class_of)))
        number = {name: index for index, name in enumerate(self.classes)}
        self.labels = (
            np.array([number[name] for name in arrangement.class_of], dtype=np.int64) if self.classes else None
        )

    def __len__(self) -> int:
        return len(self._names)

    def name(self, index: int) -> str:
        return self._names[index]

    def where(self, index: int) -> str:
        return self._container.where(self._names[index])

    def read(self, index: int) -> Image.Image:
        return decode(self._container.read(self._names[index]))

    def close(self) -> None:
        self._container.close()
