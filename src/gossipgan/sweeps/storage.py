"""Where studies are kept: an Optuna database, and a way to take turns at it.

Optuna's own calls are safe beside one another, but two workers that count trials and then add one, or that take the
same waiting trial, are not: what must be exact is done in a turn.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossipgan.errors import UserError

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

#: Seconds that a writer waits for another in SQLite.
_BUSY = 120


class StudyStorage:
    """An open database of studies.

    Args:
        url: ``sqlite:///FILE`` or ``postgresql+psycopg://...``.
        create: make the tables where they are missing. Whoever only works on a study leaves it to the one who made it.

    Raises:
        UserError: another kind of database, or it cannot be opened.
    """

    def __init__(self, url: str, *, create: bool) -> None:
        self.url = url
        self._file = _sqlite_file(url)
        if self._file is not None and not self._file.exists() and not create:
            raise UserError(f"{self._file}: there are no sweeps yet; begin one with gossipgan sweep run FILE")
        from optuna.storages import RDBStorage, get_storage

        arguments: dict[str, Any] = {"connect_args": {"timeout": _BUSY}} if self._file is not None else {}
        with readable_failures(url):
            if create:
                with self._alone("tables"):
                    self._database = RDBStorage(url, engine_kwargs=arguments)
            else:
                self._database = RDBStorage(url, engine_kwargs=arguments, skip_table_creation=True)
        #: As Optuna's studies take it.
        self.optuna: BaseStorage = get_storage(self._database)

    def close(self) -> None:
        """Give the database's connections back."""
        self._database.remove_session()
        self._database.engine.dispose()

    @contextmanager
    def turn(self, study: str) -> Iterator[None]:
        """Alone with a study, among all processes that ask for a turn; let go when a process dies."""
        with self._alone(study):
            yield

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._file.with_name(self._file.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)
            return
        from sqlalchemy import create_engine, text
        from sqlalchemy.pool import NullPool

        number = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], "big", signed=True)
        with create_engine(self.url, poolclass=NullPool).connect() as connection:
            # Held by the connection, which ends with this block or with the process.
            connection.execute(text("SELECT pg_advisory_lock(:number)"), {"number": number})
            yield

    def set_waiting(self, study: str, number: int) -> None:
        """Put a running trial back into the queue, with all that it has."""
        from optuna.trial import TrialState

        self._database.set_trial_state_values(self._trial_id(study, number), TrialState.WAITING)

    def _trial_id(self, study: str, number: int) -> int:
        study_id = self._database.get_study_id_from_name(study)
        return self._database.get_trial_id_from_study_id_trial_number(study_id, number)


def default_url(root: Path) -> str:
    """``sweeps.db`` in the folder of ``params.yaml``."""
    return f"sqlite:///{(root / 'sweeps.db').resolve()}"


@contextmanager
def readable_failures(url: str) -> Iterator[None]:
    """Turn a database that cannot be used into one line, without the password that its URL may hold."""
    from sqlalchemy.exc import SQLAlchemyError

    from gossipgan.tracking import without_password

    try:
        yield
    except (SQLAlchemyError, ImportError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(without_password(f"--storage {url}: cannot be used: {first}")) from None


def _sqlite_file(url: str) -> Path | None:
    """The file of a SQLite URL; None for PostgreSQL.

    Raises:
        UserError: neither.
    """
    kind, _, rest = url.partition("://")
    if kind == "sqlite" and len(rest) > 1 and not rest.endswith(":memory:"):
        return Path(rest.removeprefix("/"))
    if kind.split("+")[0] == "postgresql":
        return None
    raise UserError(
        f"--storage {kind}://...: sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME is wanted; "
        "other databases cannot lend turns"
    )
