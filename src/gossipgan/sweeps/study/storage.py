"""Where studies are kept: an Optuna database, and a way to take turns at it.

Optuna's own calls are safe beside one another, but two workers that count trials and then add one, or that take the
same waiting trial, are not: what must be exact is done in a turn.

A PostgreSQL server may go away for a while, as in a restart. A call that fails for that is made again, until the
server has been away for two minutes; a turn that was cut short is lost to its holder, and is taken again as a whole
(``patiently``). Clocks of hosts that share a storage must agree within a minute: signs of life carry the time.
"""

import fcntl
import functools
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gossipgan.errors import UserError

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from sqlalchemy import Connection

T = TypeVar("T")

#: Seconds that a writer waits for another in SQLite.
_BUSY = 120
#: Seconds for which a server may be away, less than after which a worker counts as dead; and between tries.
_AWAY, _AGAIN = 120.0, 1.0

#: How soon a server that has vanished from the network is noticed, by libpq's names, unless the URL says otherwise.
_CONNECTION = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
#: The same for the server, whose turns a host that has vanished must not hold.
_SERVER = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"

#: What Optuna asks of a database, each a transaction of its own.
_CALLS = (
    "create_new_study",
    "delete_study",
    "set_study_user_attr",
    "set_study_system_attr",
    "get_study_id_from_name",
    "get_study_name_from_id",
    "get_study_directions",
    "get_study_user_attrs",
    "get_study_system_attrs",
    "get_all_studies",
    "_create_new_trial",
    "_set_trial_param",
    "get_trial_id_from_study_id_trial_number",
    "_get_best_trial_id",
    "set_trial_state_values",
    "set_trial_intermediate_value",
    "set_trial_user_attr",
    "set_trial_system_attr",
    "get_trial",
    "_get_trials",
)


class StudyStorage:
    """An open database of studies.

    A process has one connection to a PostgreSQL server, and another while it has a turn or waits for one.

    Args:
        url: ``sqlite:///FILE`` or ``postgresql+psycopg://...``; what the latter leaves out is taken from PGPASSWORD,
            PGPASSFILE, PGHOST, ... and ``~/.pgpass``.
        create: make the tables where they are missing. Whoever only works on a study leaves it to the one who made it.

    Raises:
        UserError: another kind of database, or it cannot be opened.
    """

    def __init__(self, url: str, *, create: bool) -> None:
        self.url = url
        self._file = _sqlite_file(url)
        self._taking_turn = False
        if self._file is not None and not self._file.exists() and not create:
            raise UserError(f"{self._file}: there are no sweeps yet; begin one with gossipgan sweep run FILE")
        from optuna.storages import RDBStorage, get_storage

        with readable_failures(url):
            arguments = _engine_arguments(url, self._file)
            self._database_url = url if self._file is not None else _with_driver(url)
            if create:
                with self._alone("tables"):
                    self._database = RDBStorage(self._database_url, engine_kwargs=arguments)
            else:
                if self._file is None and not self._has_tables():
                    raise UserError(f"--storage {shown(url)}: no sweeps yet; begin one with gossipgan sweep run FILE")
                self._database = RDBStorage(self._database_url, engine_kwargs=arguments, skip_table_creation=True)
        if self._file is None:
            for name in _CALLS:
                setattr(self._database, name, self._again_and_again(getattr(self._database, name)))
        #: As Optuna's studies take it.
        self.optuna: BaseStorage = get_storage(self._database)

    @property
    def one_machine(self) -> bool:
        """Whether only processes of one machine can share it."""
        return self._file is not None

    def close(self) -> None:
        """Give the database's connections back."""
        self._database.remove_session()
        self._database.engine.dispose()

    @contextmanager
    def turn(self, study: str) -> Iterator[None]:
        """Alone with a study, among all processes that ask for a turn; let go when a process dies.

        Nothing in it is tried again alone: see ``patiently``.
        """
        with self._alone(study):
            self._taking_turn = True
            try:
                yield
            finally:
                self._taking_turn = False

    def patiently(self, call: Callable[[], T], *, first: Callable[[], object] = lambda: None) -> T:
        """Make a call; while the server is away, make it again.

        Args:
            call: what may be cut short at any point, and begun anew then.
            first: before another try, to put right what the one before may have left.

        Raises:
            UserError: in one line, after two minutes.
        """
        away_since: float | None = None
        while True:
            try:
                if away_since is not None:
                    first()
                return call()
            except Exception as error:
                if self._file is not None or self._taking_turn or not _is_outage(error):
                    raise
                now = time.monotonic()
                away_since = away_since or now
                if now - away_since > _AWAY:
                    raise UserError(
                        f"--storage {shown(self.url)}: has been away for {_AWAY:.0f} s: {_first_line(error)}; "
                        "the same command goes on when it is back"
                    ) from None
            time.sleep(_AGAIN)

    def set_waiting(self, study: str, number: int) -> None:
        """Put a running trial back into the queue, with all that it has."""
        from optuna.trial import TrialState

        self._database.set_trial_state_values(self._trial_id(study, number), TrialState.WAITING)

    def _trial_id(self, study: str, number: int) -> int:
        study_id = self._database.get_study_id_from_name(study)
        return self._database.get_trial_id_from_study_id_trial_number(study_id, number)

    def _again_and_again(self, call: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(call)
        def patient(*arguments: Any, **keywords: Any) -> T:
            return self.patiently(lambda: call(*arguments, **keywords))

        return patient

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
        from sqlalchemy import text

        number = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], "big", signed=True)
        with self._connect() as connection:
            # Held by the transaction, which ends with this block or with the process.
            connection.execute(text(_SERVER))
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})
            yield

    def _connect(self) -> "Connection":
        """A connection to a server, beside those of Optuna."""
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        arguments = _engine_arguments(self.url, None)["connect_args"]
        return create_engine(self._database_url, poolclass=NullPool, connect_args=arguments).connect()

    def _has_tables(self) -> bool:
        from sqlalchemy import inspect

        with self._connect() as connection:
            return inspect(connection).has_table("studies")


def default_url(root: Path) -> str:
    """``sweeps.db`` in the folder of ``params.yaml``."""
    return f"sqlite:///{(root / 'sweeps.db').resolve()}"


def shown(url: str) -> str:
    """A storage's URL without the password that it may hold."""
    from gossipgan.tracking import without_password

    return without_password(url)


@contextmanager
def readable_failures(url: str) -> Iterator[None]:
    """Turn a database that cannot be used into one line, without the password that its URL may hold."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    from gossipgan.tracking import without_password

    try:
        yield
    except (SQLAlchemyError, StorageInternalError, ImportError) as error:
        raise UserError(without_password(f"--storage {url}: cannot be used: {_first_line(error)}")) from None


def _first_line(error: BaseException) -> str:
    """What a database's library says, in a line, with what to do where psycopg is missing."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ImportError) and error.name == "psycopg":
        return 'psycopg is not there; pip install "gossipgan[postgresql]" installs it'
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _is_outage(error: BaseException | None) -> bool:
    """Whether a call has failed since the server is away, or was on its way."""
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

    while error is not None:
        if isinstance(error, OperationalError | InterfaceError):
            return True
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            return True
        error = error.__cause__ or error.__context__
    return False


def _engine_arguments(url: str, file: Path | None) -> dict[str, Any]:
    """SQLAlchemy's arguments for an engine of one process with one thread."""
    if file is not None:
        return {"connect_args": {"timeout": _BUSY}}
    from sqlalchemy import make_url

    given = make_url(url).query
    connection = {key: value for key, value in _CONNECTION.items() if key not in given}
    # A connection that has died meanwhile is noticed before it is used.
    return {"connect_args": connection, "pool_size": 1, "max_overflow": 1, "pool_pre_ping": True}


def _with_driver(url: str) -> str:
    """A PostgreSQL URL that names its driver."""
    kind, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if kind == "postgresql" else url


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
