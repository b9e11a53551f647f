"""The start of a sweep: everything is checked, the study is made or found, and workers are put under a supervisor."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from gossipgan.config import ParamsFile
from gossipgan.errors import UserError
from gossipgan.sweeps.processes import Nursery
from gossipgan.sweeps.search import Grounds, Sweep, check_optimizer, check_project, check_topologies, load_sweep
from gossipgan.sweeps.study import Show, StudyStorage, check_unchanged, choose_study, view
from gossipgan.sweeps.workers.local import LocalWorkers
from gossipgan.sweeps.workers.slurm import SlurmWorkers, check_shared, check_slurm
from gossipgan.sweeps.workers.supervisor import Ended, Supervisor, Workers
from gossipgan.sweeps.workers.worker import WorkRequest, import_worker, work

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
        check_topologies(sweep)
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
        supervisor = Supervisor(
            sweep, study, storage, workers, show, wanted=options.workers, timeout=options.timeout, to_the_end=True
        )
        return supervisor.run()
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
        check_topologies(sweep)
        grounds = _check(sweep, root, options)
        _check_same(storage, name, sweep, grounds, root)
        workers = _make_workers(sweep, name, options, grounds, nursery, f"worker-{socket.gethostname()}")
        supervisor = Supervisor(
            sweep, name, storage, workers, show, wanted=options.workers, timeout=options.timeout, to_the_end=False
        )
        return supervisor.run()
    finally:
        if nursery is not None:
            nursery.close()


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
) -> Workers:
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
