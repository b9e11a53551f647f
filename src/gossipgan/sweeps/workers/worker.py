"""A worker: takes one trial after the other, and has each executed."""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from gossipgan.config import load_params
from gossipgan.sweeps.processes import Nursery, import_training, run_trial
from gossipgan.sweeps.search import Sweep, load_sweep
from gossipgan.sweeps.study import StudyStorage, check_unchanged, claim
from gossipgan.sweeps.workers.execution import Execution, Place

#: Seconds between looks at whether the sweep is to stop.
_LOOK_FOR_STOP = 1.0


class WorkRequest(NamedTuple):
    """What a worker is to do, as JSON can carry it.

    Attributes:
        root: the folder of ``params.yaml``.
        params: the params file.
        file: the sweep file.
        study: its study's name.
        folder: where its trials' folders are.
        url: of the storage.
        metrics: full names of what trials are judged by.
        data_digest: of the prepared store.
        processes: of each run of a trial, as far as it has learners for them.
        devices: GPUs that its trials may see; None: all.
        log: file that everything printed is added to.
    """

    root: str
    params: str
    file: str
    study: str
    folder: str
    url: str
    metrics: list[str]
    data_digest: str
    processes: int
    devices: str | None
    log: str


def import_worker() -> None:
    """Import what workers and their trials need, and touch no device."""
    import optuna  # noqa: F401

    import_training()


def work(request: dict[str, Any]) -> int:
    """A worker's process, from its first trial to its last; returns its exit status."""
    wanted = WorkRequest(**request)
    nursery = Nursery(lambda: None, run_trial)  # everything is imported already
    log = os.open(wanted.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    worker = Worker(wanted, nursery)
    signal.signal(signal.SIGTERM, worker.stop)
    worker.work()
    nursery.close()
    return 0


class Worker:
    """One trial at a time, until nothing is left or the sweep is stopped."""

    def __init__(self, wanted: WorkRequest, nursery: Nursery) -> None:
        self._wanted = wanted
        self._nursery = nursery
        self._sweep: Sweep = load_sweep(Path(wanted.file), load_params(Path(wanted.params)))
        self._storage = StudyStorage(wanted.url, create=False)
        check_unchanged(self._storage, self._sweep, wanted.study, wanted.data_digest)
        self._place = Place(
            study=wanted.study,
            root=wanted.root,
            folder=Path(wanted.folder),
            metrics=tuple(wanted.metrics),
            processes=wanted.processes,
            devices=wanted.devices,
        )
        self._stopped = False
        self._trials: int | None = None
        self._looked_for_stop = 0.0

    def stop(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Put the trial under way back into the queue, and end. Also a signal's handler."""
        self._stopped = True

    def work(self) -> None:
        """Take and run trials."""
        wanted = self._wanted
        while not self._stopping():
            taken = claim(self._storage, self._sweep, wanted.study, self._trials, wanted.data_digest)
            if taken is None:
                return
            Execution(taken, self._sweep, self._storage, self._place, self._nursery, self._stopping).run()

    def _stopping(self) -> bool:
        now = time.monotonic()
        if not self._stopped and now - self._looked_for_stop > _LOOK_FOR_STOP:
            self._looked_for_stop = now
            import optuna

            about = optuna.load_study(study_name=self._wanted.study, storage=self._storage.optuna).user_attrs
            self._stopped = self._stopped or bool(about.get("stop"))
            self._trials = about.get("budget")
        return self._stopped
