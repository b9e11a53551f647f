"""One process at a time at work in a folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossipgan.errors import UserError


@contextmanager
def alone(folder: Path, what: str) -> Iterator[None]:
    """See that nobody else is at work in a folder; let go when this process ends, however it does.

    Args:
        folder: is made if need be; holds ``.lock``.
        what: such a process, for people, such as ``gossipgan sweep confirm``.

    Raises:
        UserError: somebody is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{folder}: another {what} is at work here; wait for its end") from None
        yield
    finally:
        os.close(descriptor)
