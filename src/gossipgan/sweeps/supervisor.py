"""The supervisor: checks everything, makes the study, starts workers, and sees to it that nothing is lost."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from gossipgan.config import ParamsFile
from gossipgan.errors import UserError
from gossipgan.sweeps.claim import anything_left
from gossipgan.sweeps.file import Sweep, load_sweep
from gossipgan.sweeps.kin import kill_group
from gossipgan.sweeps.nursery import Nursery
from gossipgan.sweeps.optimizer import check_optimizer
from gossipgan.sweeps.storage import StudyStorage
from gossipgan.sweeps.study import choose_study, recover
from gossipgan.sweeps.view import SweepView, view
from gossipgan.sweeps.worker import WorkRequest, import_worker, work

#: Seconds between looks at the study.
_LOOK = 1.0
#: Seconds that workers have to put their trials back when the sweep is stopped.
_GRACE = 60.0
#: How often a worker that has died is replaced, for each of the workers.
_REPLACEMENTS = 3

#: Shown what there is to see, again and again.
Show = Callable[[SweepView], None]


class Options(NamedTuple):
    """How a sweep is run this time.

    Attributes:
        workers: trials at a time.
        trials: the budget, instead of the file's.
        timeout: seconds, after which this start of the sweep stops.
        url: of the storage.
        devices: GPUs, dealt to the workers in turn; empty: every worker sees all.
        fork: begin a new study from the old trials where the space has changed.
    """

    workers: int
    trials: int | None
    timeout: float | None
    url: str
    devices: tuple[str, ...]
    fork: bool


class Ended(NamedTuple):
    """How a start of a sweep ended.

    Attributes:
        study: its name.
        why: ``done``, ``timeout``, ``stop`` (asked for by ``sweep stop``), ``interrupted`` or ``workers`` (they died
            again and again).
    """

    study: str
    why: str


def run_sweep(path: Path, params: ParamsFile, options: Options, show: Show) -> Ended:
    """Run a sweep until its budget is spent, or it is stopped; go on with it where it was.

    Must be called in the main thread, before this process has threads or a device: its workers are forked from it.

    Raises:
        UserError: in one line, before anything starts.
    """
    sweep = load_sweep(path, params)
    nursery = Nursery(import_worker, work)
    try:
        return _Supervisor(sweep, options, nursery, show).run()
    finally:
        nursery.close()


class _Supervisor:
    def __init__(self, sweep: Sweep, options: Options, nursery: Nursery, show: Show) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._sweep = sweep
        self._options = options
        self._nursery = nursery
        self._show = show
        self._trials = options.trials or sweep.settings.budget.trials
        self._workers: set[int] = set()
        self._started = 0
        self._why: str | None = None
        self._root = sweep.params.path.parent.resolve()
        check_optimizer(sweep)
        self._score, self._digest = _check_project(sweep, self._root, options.devices)
        self._storage = StudyStorage(options.url, create=True)
        self._study = choose_study(self._storage, sweep, self._digest, self._score, fork=options.fork)
        self._folder = self._root / "work" / "sweeps" / self._study

    def run(self) -> Ended:
        import optuna

        self._folder.mkdir(parents=True, exist_ok=True)
        study = optuna.load_study(study_name=self._study, storage=self._storage.optuna)
        study.set_user_attr("stop", False)
        study.set_user_attr("budget", self._trials)
        recover(self._storage, self._study)
        spent = float(study.user_attrs["seconds"])
        began = time.monotonic()
        before = {number: signal.signal(number, self._interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._show(view(self._storage, self._study, self._folder.parent))  # what had ended before is no news
            self._start_workers()
            while self._workers:
                for worker, status in self._nursery.ended(_LOOK):
                    self._buried(worker, status)
                elapsed = time.monotonic() - began
                now = view(self._storage, self._study, self._folder.parent)
                self._show(now)
                study.set_user_attr("seconds", spent + elapsed)
                if self._why is None:
                    self._why = self._limit(now, elapsed, spent + elapsed)
                if self._why is not None:
                    self._stop_workers()
                elif not self._workers:
                    self._start_workers()
            recover(self._storage, self._study)
            self._show(view(self._storage, self._study, self._folder.parent))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return Ended(self._study, self._why or "done")

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._why == "interrupted":  # asked for again: at once
            for worker in self._workers:
                kill_group(worker)
        self._why = "interrupted"

    def _limit(self, now: SweepView, elapsed: float, spent: float) -> str | None:
        """Why it is to stop, if it is."""
        budget = self._sweep.settings.budget
        if now.stop:
            return "stop"
        if self._options.timeout is not None and elapsed > self._options.timeout:
            return "timeout"
        if budget.time is not None and spent > budget.time:
            return "timeout"
        if budget.device_hours is not None and now.seconds / 3600 > budget.device_hours:
            return "timeout"
        return None

    def _start_workers(self) -> None:
        """As many workers as are wanted, if there is anything for them to do."""
        if not anything_left(self._storage, self._sweep, self._study, self._trials):
            return
        while len(self._workers) < self._options.workers:
            if self._started >= self._options.workers * (1 + _REPLACEMENTS):
                self._why = self._why or "workers"
                return
            index, devices = self._started % self._options.workers, self._options.devices
            request = WorkRequest(
                root=str(self._root),
                params=str(self._sweep.params.path.resolve()),
                file=str(self._sweep.path.resolve()),
                study=self._study,
                folder=str(self._folder),
                url=self._options.url,
                score=self._score,
                data_digest=self._digest,
                trials=self._trials,
                devices=devices[index % len(devices)] if devices else None,
                log=str(self._folder / f"worker-{index}.log"),
            )
            self._workers.add(self._nursery.spawn(request._asdict()))
            self._started += 1

    def _buried(self, worker: int, status: int) -> None:
        """After a worker that died its trial waits again, and another worker takes its place."""
        self._workers.discard(worker)
        if status == 0 or self._why is not None:
            return
        recover(self._storage, self._study)
        self._start_workers()

    def _stop_workers(self) -> None:
        """Let every worker put its trial back, and wait for them."""
        for worker in self._workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while self._workers and time.monotonic() < deadline:
            self._workers -= {worker for worker, _ in self._nursery.ended(_LOOK)}
        for worker in self._workers:
            kill_group(worker)
        while self._workers:
            self._workers -= {worker for worker, _ in self._nursery.ended(_LOOK)}


def _check_project(sweep: Sweep, root: Path, devices: Sequence[str]) -> tuple[str, str]:
    """See that every run finds its data, extractor and device; returns the objective's full name and the data's digest.

    The reference statistics are computed here, once, and found by all.
    """
    from gossipgan.data import Store, check_prepared
    from gossipgan.evaluation import Ruler
    from gossipgan.runs import Project
    from gossipgan.training import choose_device, set_up_device

    project = Project(root)
    store = Store.open(project.prepared)
    check_prepared(store, sweep.base.data)
    if devices:
        import torch

        for device in devices:
            if int(device) >= torch.cuda.device_count():
                raise UserError(f"--devices {device}: not there: {torch.cuda.device_count()} GPUs found")
    choose_device(sweep.base.training.device)
    ruler = Ruler.open(sweep.base, store, project.extractor, project.cache, set_up_device(sweep.base.training))
    return ruler.metric_name(sweep.settings.objective.metric, sweep.iterate), store.digest
