"""Datasets that torchvision can download: where they lie, and how they get there."""

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from gossipgan.config import DataSettings
from gossipgan.errors import UserError


def dataset_folder(settings: DataSettings) -> Path:
    """The folder of a dataset's files: ``data.path``, or a cache of the user's without it."""
    if settings.path is not None:
        folder = Path(settings.path).expanduser()
        if folder.exists() and not folder.is_dir():
            raise UserError(f"data.path: {folder}: a file; source {settings.source} wants a folder with its files")
        return folder
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "gossipgan" / settings.source


def fetch(settings: DataSettings, folder: Path, wanted: str, download: Callable[[Path], object]) -> None:
    """Download a dataset into ``folder``, whole or not at all.

    Args:
        wanted: what a person could do instead, such as "put a.gz there".
        download: fetches the files into the folder it is given; the checksums are its business.

    Raises:
        UserError: downloading is switched off, or failed.
    """
    missing = f"{folder}: {settings.source} was not found"
    instead = f"{wanted} (data.path names the folder), or use data.source: mnist-sample, which needs no network"
    if not settings.download:
        raise UserError(f"{missing} and data.download is false; {instead}")
    new_folders = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as temporary:
            # torchvision prints its progress; what is said to a person is the caller's choice.
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                download(Path(temporary))
            shutil.copytree(temporary, folder, dirs_exist_ok=True)
    except (OSError, RuntimeError, HTTPException) as error:
        for path in new_folders:
            with contextlib.suppress(OSError):  # another process may have put something there
                path.rmdir()
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{missing} and cannot be downloaded ({reason}); {instead}") from None
