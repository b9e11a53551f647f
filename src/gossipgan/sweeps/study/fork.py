"""A new study in place of one whose sweep file has changed."""

from contextlib import closing
from pathlib import Path

from gossipgan.config import ParamsFile
from gossipgan.sweeps.search import check_optimizer, check_project, check_topologies, load_sweep
from gossipgan.sweeps.study.storage import StudyStorage
from gossipgan.sweeps.study.study import choose_study


def fork_sweep(path: Path, params: ParamsFile, url: str) -> str:
    """Begin a new study of a sweep file, warm-started with the trials of the latest, and run nothing.

    Args:
        path: the sweep file.
        url: of the storage.

    Returns:
        The new study's name.

    Raises:
        UserError: the file is not right, or nothing has changed in it since its study began.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sweep = load_sweep(path, params)
    check_optimizer(sweep)
    check_topologies(sweep)
    grounds = check_project(sweep, params.path.parent.resolve(), (), sweep.settings.processes)
    with closing(StudyStorage(url, create=True)) as storage:
        return choose_study(storage, sweep, grounds.data_digest, grounds.metrics, fork=True)
