"""Files by name, from a folder or from a zip."""

import os
import zipfile
import zlib
from pathlib import Path
from typing import Protocol

from gossipgan.data.sources.base import BadPicture
from gossipgan.errors import UserError


class Container(Protocol):
    """Names are relative, with ``/`` between folders, and sorted."""

    names: list[str]

    def where(self, name: str) -> str:
        """Where the file is, for a message."""

    def read(self, name: str) -> bytes:
        """The file's bytes; BadPicture where they cannot be had."""

    def close(self) -> None:
        """Let go of open files."""


class Folder:
    """The files below a folder, links to folders included, hidden ones left out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = {_printable(file.relative_to(path).as_posix()): file for file in _walk(path)}
        self.names = sorted(self._files)

    def where(self, name: str) -> str:
        return str(self._path / name)

    def read(self, name: str) -> bytes:
        try:
            return self._files[name].read_bytes()
        except OSError as error:
            raise BadPicture(f"cannot be read ({error.strerror})") from None

    def close(self) -> None:
        """Nothing stays open."""


class Zip:
    """The files in a zip, hidden ones and macOS's resource forks left out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError):
            raise UserError(
                f"{path}: damaged, or not a zip; source images wants a folder or a zip of pictures"
            ) from None
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
        self._members = {
            _printable(member.filename): member
            for member in self._archive.infolist()
            if not member.is_dir() and not _hidden(member.filename)
        }
        self.names = sorted(self._members)

    def where(self, name: str) -> str:
        return f"{self._path}: {name}"

    def read(self, name: str) -> bytes:
        try:
            return self._archive.read(self._members[name])
        except RuntimeError as error:
            # NotImplementedError, for an unknown compression, is a RuntimeError as well.
            encrypted = not isinstance(error, NotImplementedError)
            raise BadPicture("encrypted" if encrypted else "compressed in an unknown way") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError):
            raise BadPicture("damaged in the zip") from None

    def close(self) -> None:
        self._archive.close()


def _walk(top: Path) -> list[Path]:
    """Files below ``top``, through links to folders but through each folder once, so that a loop ends."""
    files: list[Path] = []
    seen: set[str] = set()
    for folder, below, names in os.walk(top, followlinks=True, onerror=_stop):
        real = os.path.realpath(folder)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        below[:] = sorted(name for name in below if not _hidden(name))
        files.extend(Path(folder, name) for name in names if not _hidden(name))
    return files


def _stop(error: OSError) -> None:
    raise UserError(f"{error.filename}: cannot be read: {error.strerror}")


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def _printable(name: str) -> str:
    """A name that every terminal and JSON file takes: bytes that are not UTF-8 are written as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
