"""The supervisor: checks everything, makes the study, starts workers, and sees to it that nothing is lost."""

import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Literal, NamedTuple, Protocol

from gossipgan.config import ParamsFile
from gossipgan.errors import UserError
from gossipgan.sweeps.claim import prospects
from gossipgan.sweeps.file import Sweep, load_sweep
from gossipgan.sweeps.grounds import Grounds, check_project
from gossipgan.sweeps.local import LocalWorkers
from gossipgan.sweeps.nursery import Nursery
from gossipgan.sweeps.optimizer import check_optimizer
from gossipgan.sweeps.slurm import SlurmWorkers, check_shared, check_slurm
from gossipgan.sweeps.storage import StudyStorage
from gossipgan.sweeps.study import choose_study, recover
from gossipgan.sweeps.view import Onlooker, SweepView, view
from gossipgan.sweeps.worker import WorkRequest, import_worker, work

#: Seconds between looks at the study: at least, and at most where a look takes long.
_LOOK, _LONGEST = 1.0, 10.0
#: The most of its time that looking may take.
_SHARE = 0.05
#: Seconds after which the time that the sweep has been running is noted in the study.
_TICK = 10.0
#: Seconds between searches for trials whose workers are no more.
_RECOVER = 15.0
#: How often a worker that has died is replaced, for each of the workers, until a trial ends.
_REPLACEMENTS = 3

#: Shown what there is to see, again and again.
Show = Callable[[SweepView], None]

Launcher = Literal["local", "slurm"]


class Options(NamedTuple):
    """How a sweep is run this time.

    Attributes:
        workers: trials at a time.
        trials: the budget, instead of the file's.
        timeout: seconds, after which this start of the sweep stops.
        url: of the storage.
        devices: what a worker's trials see, such as ``0`` or ``0,1``, taken in turn; empty: every worker sees all GPUs.
        fork: begin a new study from the old trials where the space has changed.
        processes: of each run of a trial, instead of the file's.
        launcher: who starts the workers: this process, or a Slurm cluster.
        slurm: sbatch's options by name.
    """

    workers: int
    trials: int | None
    timeout: float | None
    url: str
    devices: tuple[str, ...]
    fork: bool
    processes: int | None = None
    launcher: Launcher = "local"
    slurm: Mapping[str, str] = {}


class Ended(NamedTuple):
    """How a start of a sweep ended.

    Attributes:
        study: its name.
        why: ``done``, ``timeout``, ``stop`` (asked for by ``sweep stop``), ``interrupted``, ``terminated`` (by SIGTERM)
            or ``workers`` (they died again and again).
    """

    study: str
    why: str


class _Workers(Protocol):
    """Workers of one start of a sweep, wherever they run."""

    @property
    def living(self) -> int: ...

    def start(self) -> int:
        """As many as are missing; returns how many these were."""

    def look(self, seconds: float) -> bool:
        """Wait a while for news; whether a worker has died."""

    def stop(self) -> None:
        """Let every worker put its trial back, and wait for them."""

    def kill(self) -> None:
        """End them at once."""


def run_sweep(path: Path, params: ParamsFile, options: Options, show: Show) -> Ended:
    """Run a sweep until its budget is spent, or it is stopped; go on with it where it was.

    Must be called in the main thread, before this process has threads or a device: its workers are forked from it.

    Raises:
        UserError: in one line, before anything starts.
    """
    _quiet()
    sweep = load_sweep(path, params)
    root = params.path.parent.resolve()
    nursery = _begin(options)
    try:
        check_optimizer(sweep)
        grounds = _check(sweep, root, options)
        storage = StudyStorage(options.url, create=True)
        if options.launcher == "slurm":
            check_shared(storage, options.slurm.get("partition"))
        study = storage.patiently(
            lambda: choose_study(storage, sweep, grounds.data_digest, grounds.metrics, fork=options.fork)
        )
        _check_extractor(storage, study, grounds, root)
        trials = options.trials or sweep.settings.budget.trials
        _begin_study(storage, study, trials)
        workers = _make_workers(sweep, study, options, grounds, nursery, "worker")
        return _Supervisor(sweep, study, storage, workers, options, show, to_the_end=True).run()
    finally:
        if nursery is not None:
            nursery.close()


def work_on_sweep(name: str, params: ParamsFile, options: Options, show: Show) -> Ended:
    """Work on a sweep that was begun by ``run_sweep``, on this or another host, until nothing is left to take.

    The study says which file, budget and score it is of; data and extractor must be the same here. A trial that was
    put back by another host goes on from its checkpoint where both share the project's folder, and begins anew
    otherwise. Must be called as ``run_sweep`` is. ``options.trials`` and ``options.fork`` mean nothing here.

    Raises:
        UserError: in one line, before anything starts: there is no such sweep, it was asked to stop, or this project
            is not the one that it is of.
    """
    import socket

    _quiet()
    nursery = _begin(options)
    try:
        root = params.path.parent.resolve()
        storage = StudyStorage(options.url, create=False)
        about = view(storage, name, root / "work" / "sweeps")
        if about.stop:
            raise UserError(f"{name}: was asked to stop; gossipgan sweep resume {name} goes on with it")
        sweep = load_sweep(root / about.file, params)
        check_optimizer(sweep)
        grounds = _check(sweep, root, options)
        _check_same(storage, name, sweep, grounds, root)
        workers = _make_workers(sweep, name, options, grounds, nursery, f"worker-{socket.gethostname()}")
        return _Supervisor(sweep, name, storage, workers, options, show, to_the_end=False).run()
    finally:
        if nursery is not None:
            nursery.close()


class _Supervisor:
    """Watches over the workers of one start.

    Args:
        to_the_end: stay until the sweep is done, wherever it runs; else until nothing is left to take.
    """

    def __init__(
        self,
        sweep: Sweep,
        study: str,
        storage: StudyStorage,
        workers: _Workers,
        options: Options,
        show: Show,
        *,
        to_the_end: bool,
    ) -> None:
        self._sweep = sweep
        self._study = study
        self._storage = storage
        self._workers = workers
        self._options = options
        self._show = show
        self._to_the_end = to_the_end
        self._folder = sweep.params.path.parent.resolve() / "work" / "sweeps" / study
        self._why: str | None = None
        self._in_vain = 0
        self._ended = -1
        self._recovered = 0.0
        self._began, self._ticked = time.monotonic(), time.time()
        self._onlooker = Onlooker(storage, study, self._folder.parent)
        self._now = self._onlooker.look()
        self._spent = self._now.spent
        self._pause = _LOOK

    def run(self) -> Ended:
        """Until there is a reason to end."""
        self._folder.mkdir(parents=True, exist_ok=True)
        before = {number: signal.signal(number, self._interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._recover()
            self._look()  # what had ended before is no news
            while self._why is None:
                self._why = self._go_on()
            self._workers.stop()
            self._tick()
            recover(self._storage, self._study)
            self._look()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return Ended(self._study, self._why)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and self._why == "interrupted":  # asked for again: at once
            self._workers.kill()
        # Slurm sends SIGTERM more than once, and means no more by it.
        self._why = "interrupted" if number == signal.SIGINT else "terminated"

    def _go_on(self) -> str | None:
        """Start workers where they are missing, wait, and look; why it is to end, if it is."""
        if self._workers.living < self._options.workers or not self._now.running:
            ahead = prospects(self._storage, self._sweep, self._study, self._now.budget)
            if not ahead.left and (not ahead.running if self._to_the_end else not self._workers.living):
                return "done"
            if ahead.left and self._in_vain > self._options.workers * _REPLACEMENTS:
                return "workers"
            if ahead.left:
                self._in_vain += self._workers.start()
        died = self._wait()
        if died or time.monotonic() - self._recovered > _RECOVER:
            self._recover()
        self._look()
        ended = sum(one.state not in ("running", "waiting", "interrupted", "stopped") for one in self._now.trials)
        if ended != self._ended:
            self._ended, self._in_vain = ended, 0
        if time.time() - self._ticked > _TICK:
            self._tick()
        return self._why or self._limit()

    def _wait(self) -> bool:
        """Until it is time to look, or a worker ends; whether one has died."""
        living, until = self._workers.living, time.monotonic() + self._pause
        while True:
            died = self._workers.look(_LOOK)
            if died or self._workers.living != living or self._why is not None or time.monotonic() >= until:
                return died

    def _look(self) -> None:
        began = time.monotonic()
        self._now = self._onlooker.look()._replace(spent=self._running_for())
        self._show(self._now)
        self._pause = min(_LONGEST, max(_LOOK, (time.monotonic() - began) / _SHARE))

    def _running_for(self) -> float:
        """Seconds of all starts, as far as this one knows."""
        return self._spent + max(0.0, time.time() - self._ticked)

    def _recover(self) -> None:
        self._recovered = time.monotonic()
        recover(self._storage, self._study)

    def _tick(self) -> None:
        """Note the time that the sweep has been running; the same second on several hosts counts once."""
        self._spent = self._storage.patiently(self._tick_in_turn)

    def _tick_in_turn(self) -> float:
        import optuna

        with self._storage.turn(self._study):
            study = optuna.load_study(study_name=self._study, storage=self._storage.optuna)
            about, now = study.user_attrs, time.time()
            since = max(self._ticked, float(about.get("ticked", 0.0)))
            spent = float(about["seconds"]) + max(0.0, now - since)
            study.set_user_attr("seconds", spent)
            study.set_user_attr("ticked", max(now, since))
        self._ticked = now
        return spent

    def _limit(self) -> str | None:
        """Why it is to stop, if it is."""
        budget = self._sweep.settings.budget
        if self._now.stop:
            return "stop"
        if self._options.timeout is not None and time.monotonic() - self._began > self._options.timeout:
            return "timeout"
        if budget.time is not None and self._now.spent > budget.time:
            return "timeout"
        if budget.device_hours is not None and self._now.seconds / 3600 > budget.device_hours:
            return "timeout"
        return None


def _quiet() -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)


def _begin(options: Options) -> Nursery | None:
    """The fork server of local workers; None where a cluster starts them."""
    if options.launcher == "local":
        import_worker()  # what this process needs, too: once for it and all that it makes
        return Nursery(lambda: None, work)
    check_slurm(options.slurm)
    if options.devices:
        raise UserError("--devices goes with local workers; for jobs give --slurm gpus-per-node=1")
    return None


def _check(sweep: Sweep, root: Path, options: Options) -> Grounds:
    if options.launcher == "slurm":  # the trials' device is not here
        training = sweep.base.training.model_copy(update={"device": "cpu"})
        sweep = sweep._replace(base=sweep.base.model_copy(update={"training": training}))
    return check_project(sweep, root, options.devices, options.processes or sweep.settings.processes)


def _begin_study(storage: StudyStorage, name: str, trials: int | None) -> None:
    import optuna

    study = optuna.load_study(study_name=name, storage=storage.optuna)
    study.set_user_attr("stop", False)
    study.set_user_attr("budget", trials)


def _check_extractor(storage: StudyStorage, name: str, grounds: Grounds, root: Path) -> None:
    """See that a study is judged by this extractor; a new one is from now on."""
    import optuna

    study = optuna.load_study(study_name=name, storage=storage.optuna)
    known = study.user_attrs.get("extractor")
    if known is None:
        study.set_user_attr("extractor", grounds.extractor)
    elif known != grounds.extractor:
        raise UserError(
            f"{root / 'extractor'}: another extractor ({grounds.extractor[:12]}) than {name} is judged by "
            f"({known[:12]}): its scores would not compare; copy the folder from where the sweep was begun"
        )


def _check_same(storage: StudyStorage, name: str, sweep: Sweep, grounds: Grounds, root: Path) -> None:
    """See that a study is of this project."""
    import optuna

    from gossipgan.runs import Project
    from gossipgan.sweeps.study import check_unchanged

    study = optuna.load_study(study_name=name, storage=storage.optuna)
    data = str(study.user_attrs["definition"]["data"])
    if data != grounds.data_digest:
        raise UserError(
            f"{Project(root).prepared}: other pictures ({grounds.data_digest[:12]}) than {name} is of ({data[:12]}); "
            "prepare them by the same settings"
        )
    _check_extractor(storage, name, grounds, root)
    check_unchanged(storage, sweep, name, grounds.data_digest)


def _make_workers(
    sweep: Sweep, study: str, options: Options, grounds: Grounds, nursery: Nursery | None, log: str
) -> _Workers:
    root, params = sweep.params.path.parent.resolve(), str(sweep.params.path.resolve())
    folder = root / "work" / "sweeps" / study
    if nursery is None:
        command = [sys.executable, "-m", "gossipgan", "sweep", "work", study, "--params", params]
        if options.processes is not None:
            command += ["--processes", str(options.processes)]
        return SlurmWorkers(study, options.url, folder / "slurm", command, options.slurm, options.workers)

    def request(index: int) -> WorkRequest:
        return WorkRequest(
            root=str(root),
            params=params,
            file=str(sweep.path.resolve()),
            study=study,
            folder=str(folder),
            url=options.url,
            metrics=grounds.metrics,
            data_digest=grounds.data_digest,
            processes=options.processes or sweep.settings.processes,
            devices=options.devices[index % len(options.devices)] if options.devices else None,
            log=str(folder / f"{log}-{index}.log"),
        )

    return LocalWorkers(nursery, request, options.workers)
