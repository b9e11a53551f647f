"""The process of one run of a trial: an ordinary training run in its own directory.

It knows nothing of Optuna or MLflow: what it comes to stands in the run's journal and result.
"""

import os
import shutil
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gossipgan.errors import UserError
from gossipgan.sweeps.processes.outcome import BROKEN, DONE, MISTAKE, OUT_OF_MEMORY, UNSCORED
from gossipgan.sweeps.processes.ranks import run_ranks

if TYPE_CHECKING:
    from gossipgan.mixing.group import Group

#: What torch says when memory of the machine itself is not enough; it has no exception of its own.
_CPU_OUT_OF_MEMORY = "can't allocate memory"


class RunRequest(NamedTuple):
    """What is to be run, as JSON can carry it.

    Attributes:
        root: the folder of ``params.yaml``.
        experiment: a name for people.
        settings: as ``Settings.model_dump`` gives them.
        run: the run directory.
        log: file that everything printed is added to.
        scores: file to write every score of the finished run to; None: the journal's curve is enough.
        devices: GPUs it may see, as CUDA_VISIBLE_DEVICES has them; None: all.
        processes: that host its learners.
    """

    root: str
    experiment: str
    settings: dict[str, Any]
    seed: int
    run: str
    log: str
    scores: str | None
    devices: str | None
    processes: int = 1


def import_training() -> None:
    """Import what every run needs, and touch no device: also what scores are measured with, which takes longest."""
    import torch_fidelity  # noqa: F401

    import gossipgan.evaluation.registration
    import gossipgan.training  # noqa: F401


def run_trial(request: dict[str, Any]) -> int:
    """Train one run, from its last checkpoint where there is one; returns the process's exit status."""
    wanted = RunRequest(**request)
    log = os.open(wanted.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    if wanted.devices is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = wanted.devices
    from gossipgan.runs import RunDirectory
    from gossipgan.training import resumable

    run = RunDirectory(Path(wanted.run))
    if run.path.exists() and not run.result.exists() and not resumable(run):
        shutil.rmtree(run.path)
    if wanted.processes > 1:
        return run_ranks(wanted.processes, lambda: _status(wanted))
    return _status(wanted)


def _status(wanted: RunRequest) -> int:
    """Train, as the run's only process or as one of several; how that ended."""
    import torch

    from gossipgan.evaluation import NotFiniteScore

    try:
        _train(wanted)
    except (torch.OutOfMemoryError, MemoryError) as error:
        return _failed(f"out of memory: {error}", OUT_OF_MEMORY)
    except NotFiniteScore as error:
        return _failed(str(error), UNSCORED)
    except UserError as error:
        return _failed(f"error: {error}", MISTAKE)
    except OSError as error:
        return _failed(f"error: {error}", BROKEN)
    except RuntimeError as error:
        if _CPU_OUT_OF_MEMORY not in str(error):
            raise
        return _failed(f"out of memory: {error}", OUT_OF_MEMORY)
    return DONE


def _failed(why: str, status: int) -> int:
    print(" ".join(why.split()), file=sys.stderr)  # noqa: T201
    return status


def _train(wanted: RunRequest) -> None:
    from rich.console import Console

    from gossipgan.config import Settings, fingerprint
    from gossipgan.data import Store
    from gossipgan.evaluation import Ruler, evaluate_run
    from gossipgan.mixing.group import OneProcess
    from gossipgan.runs import Project, RunDirectory, code_digest, write_json
    from gossipgan.training import joined, local_device, set_up_device, train

    project = Project(Path(wanted.root))
    settings = Settings.model_validate(wanted.settings)
    run = RunDirectory(Path(wanted.run))
    # The supervisor has compared every file with its checksum.
    store = Store.open(project.prepared, verify=False)
    device = set_up_device(settings.training)
    group: AbstractContextManager[Group] = nullcontext(OneProcess(settings.mixing.learners))
    if wanted.processes > 1:
        device = local_device(device)
        # When a process dies the trial is tried again: what is left of the learners would make another run of it.
        settings = settings.model_copy(update={"mixing": settings.mixing.model_copy(update={"on_loss": "stop"})})
        group = joined(settings, device, f"{fingerprint(settings, wanted.seed, store.digest)} {code_digest()}")
    with group as learners, open(os.devnull, "w") as nowhere:  # noqa: PTH123
        # The supervisor has computed the reference statistics, too.
        ruler = Ruler.open(settings, store, project.extractor, project.cache, device)
        console = Console(file=nowhere)
        train(run, settings, wanted.seed, store, ruler, experiment=wanted.experiment, console=console, group=learners)
        if learners.main and wanted.scores is not None:
            write_json(Path(wanted.scores), evaluate_run(run, ruler, settings))
