"""Where MLflow keeps runs, and how it is reached without ever holding a run up."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.config import TrackingSettings

#: Set unless a person has set them. By MLflow's own defaults a call to a server that is away blocks for
#: minutes; with these it gives up in seconds. Telemetry is off.
_ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
}


class Mirrored(NamedTuple):
    """What became of a view.

    Attributes:
        run_id: MLflow's id of the run; None where nothing was written.
        written: False where the run was there already, with the same content.
        warning: one line where MLflow could not be written to; the run directory has everything still.
    """

    run_id: str | None
    written: bool
    warning: str | None


def resolve_uri(tracking: TrackingSettings, root: Path) -> str:
    """``tracking.uri``, or else MLFLOW_TRACKING_URI, or else ``mlflow.db`` in the folder of ``params.yaml``.

    Args:
        root: the folder of ``params.yaml``.

    Returns:
        A URI; the default one is absolute, so that it does not depend on the current directory.
    """
    given = tracking.uri or os.environ.get("MLFLOW_TRACKING_URI")
    return given or f"sqlite:///{(root / 'mlflow.db').resolve()}"


def quiet_environment() -> None:
    """Short retries and timeouts and no telemetry, in this process's environment, unless already set.

    MLflow reads some of these when it is imported, so this comes before the import.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)


class Store:
    """An open MLflow store and the experiment in it."""

    def __init__(self, client: Any, experiment_id: str) -> None:
        self.client = client
        self.experiment_id = experiment_id

    def find(self, tags: dict[str, str]) -> list[Any]:
        """Runs that carry all these tags and are not deleted, newest first."""
        condition = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
        found: list[Any] = []
        token: str | None = None
        while True:
            page = self.client.search_runs([self.experiment_id], filter_string=condition, page_token=token)
            found.extend(page)
            token = page.token
            if not token:
                return found


@contextmanager
def open_store(tracking: TrackingSettings, root: Path) -> Iterator[Store]:
    """The store, with its experiment made if need be.

    Writers on one machine take turns (a lock on the root folder): two that make the tables of a fresh
    SQLite file at once would fail, and two that mirror one run at once would make it twice.
    """
    quiet_environment()
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    uri = resolve_uri(tracking, root)
    with _alone(root):
        client = MlflowClient(tracking_uri=uri)
        found = client.get_experiment_by_name(tracking.experiment)
        if found is None:
            # A server has its own place for artifacts; a database would take the current directory.
            artifacts = None if uri.startswith("http") else (root / "mlartifacts").resolve().as_uri()
            try:
                # The kind opens MLflow's pages for training runs rather than those for language models.
                experiment_id = client.create_experiment(
                    tracking.experiment,
                    artifact_location=artifacts,
                    tags={"mlflow.experimentKind": "custom_model_development"},
                )
            except MlflowException:
                found = client.get_experiment_by_name(tracking.experiment)
                if found is None:
                    raise
                experiment_id = found.experiment_id  # made by somebody else meanwhile
        else:
            experiment_id = found.experiment_id
        yield Store(client, experiment_id)


def tracking_failures() -> tuple[type[Exception], ...]:
    """What MLflow raises when its server, database or artifact folder cannot be used."""
    from mlflow.exceptions import MlflowException
    from requests.exceptions import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    return (MlflowException, RequestException, SQLAlchemyError, OSError)


def warning_line(error: Exception, tracking: TrackingSettings, root: Path, again: str = "gossipgan mlflow sync") -> str:
    """One line for a person, without the password that a URI may carry.

    Args:
        again: the command that fills it again.
    """
    uri = resolve_uri(tracking, root)
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    reason = first if len(first) <= 200 else first[:197] + "..."
    line = f"MLflow at {uri}: not written: {reason}; nothing is lost: {again} fills it again"
    return without_password(line)


def without_password(text: str) -> str:
    """``text`` with the passwords of all URIs in it blotted out."""
    text = re.sub(r"(://[^\s:/@]*):\S+@", r"\1:***@", text)  # a password may hold what should have been escaped
    return re.sub(r"([?&]\w*password=)[^&\s]*", r"\1***", text)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    descriptor = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
