"""A process beside a sweep that shows it in MLflow while it runs.

The sweep neither waits for it nor learns from it: whatever becomes of MLflow, the search goes on, and ``sweep sync``
fills in what is missing.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from gossipgan.config import TrackingSettings
from gossipgan.errors import UserError
from gossipgan.sweeps.processes import Nursery, last_line
from gossipgan.sweeps.study import Show, StudyStorage, SweepView

#: Seconds between looks at the sweep, and between tries where MLflow cannot be written to.
_LOOK, _AWAY = 5.0, 30.0
#: Seconds that the end of a sweep waits for the last look. A server that does not answer holds up the look before it
#: and then that one, each for half a minute; and the process may still be importing what it needs.
_GRACE = 180.0

#: Exit status where MLflow could not be written to; the log's last line says so.
_NOT_WRITTEN = 3


class FollowRequest(NamedTuple):
    """What is to be shown, as JSON can carry it.

    Attributes:
        root: the folder of ``params.yaml``.
        sweep: its name.
        url: of its storage.
        tracking: as ``TrackingSettings.model_dump`` gives it.
        log: file for whatever is to be said.
    """

    root: str
    sweep: str
    url: str
    tracking: dict[str, Any]
    log: str


class Follower:
    """The sweep's end: starts the process at the first sight of the sweep, and has it look once more at the end."""

    def __init__(self, root: Path, url: str, tracking: TrackingSettings) -> None:
        self._root = root
        self._url = url
        self._tracking = tracking
        self._nursery = Nursery(_hold_sigterm, _follow)
        self._begun = False
        self._process: int | None = None
        self._log = Path()

    def __call__(self, sweep: SweepView) -> None:
        """Told what there is to see, again and again."""
        if self._begun:
            return
        self._begun = True
        self._log = self._root / "work" / "sweeps" / sweep.name / "mlflow.log"
        request = FollowRequest(
            root=str(self._root),
            sweep=sweep.name,
            url=self._url,
            tracking=self._tracking.model_dump(mode="json"),
            log=str(self._log),
        )
        with suppress(ChildProcessError, OSError):  # the process that was to make it is no more
            self._process = self._nursery.spawn(request._asdict())

    def close(self) -> str | None:
        """Let it look once more, and end it; returns a line where not all of the sweep is in MLflow."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGTERM)
        status = self._wait(time.monotonic() + _GRACE)
        self._nursery.close()
        if status == 0 or not self._begun:
            return None
        if status == _NOT_WRITTEN:
            return last_line(self._log)
        return f"not all of the sweep is in MLflow (see {self._log}): gossipgan sweep sync fills it again"

    def _wait(self, deadline: float) -> int | None:
        """Its exit status; None where it does not end in time, or was never there."""
        while self._process is not None and (left := deadline - time.monotonic()) > 0:
            try:
                for _, status in self._nursery.ended(left):
                    return status
            except ChildProcessError:
                break
        return None


@contextmanager
def follow_sweep(*, root: Path, url: str, tracking: TrackingSettings, warn: Callable[[str], None]) -> Iterator[Show]:
    """Show a sweep in MLflow while it runs; with ``mlflow: false`` nothing is done.

    Must be entered in the main thread, before this process has threads or a device.

    Args:
        root: the folder of ``params.yaml``.
        url: of the sweep's storage.
        warn: told a line, at the end, where not all of the sweep is in MLflow.
    """
    if not tracking.mlflow:
        yield lambda sweep: None
        return
    follower = Follower(root, url, tracking)
    try:
        yield follower
    finally:
        warning = follower.close()
        if warning is not None:
            warn(warning)


def _hold_sigterm() -> None:
    """Let SIGTERM wait until the process is ready for it: a sweep may be over as soon as it has begun."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _follow(request: dict[str, Any]) -> int:
    """The process: look until SIGTERM, and then once more; returns its exit status."""
    wanted = FollowRequest(**request)
    Path(wanted.log).parent.mkdir(parents=True, exist_ok=True)
    log = os.open(wanted.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    import optuna

    from gossipgan.sweeps.mirror.record import Recorder
    from gossipgan.tracking import SweepMirror

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    root = Path(wanted.root)
    mirror = SweepMirror(TrackingSettings.model_validate(wanted.tracking), root)
    with closing(StudyStorage(wanted.url, create=False)) as storage:
        whole, recorder = True, None
        while True:
            last = stopping  # before the look, which is then as late as it has to be
            try:
                recorder = recorder or Recorder(storage, wanted.sweep, root)
                warning = mirror.show(recorder.read(), whole=whole or last, under_way=not last).warning
            except UserError as error:
                warning = str(error)
            whole = warning is not None
            if warning is not None:
                print(warning, file=sys.stderr, flush=True)  # noqa: T201
            if last:
                return 0 if warning is None else _NOT_WRITTEN
            until = time.monotonic() + (_LOOK if warning is None else _AWAY)
            while not stopping and time.monotonic() < until:
                time.sleep(0.5)
