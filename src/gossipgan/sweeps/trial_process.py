"""The process of one run of a trial: an ordinary training run in its own directory.

It knows nothing of Optuna or MLflow: what it comes to stands in the run's journal and result.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.errors import UserError
from gossipgan.sweeps.outcome import BROKEN, DONE, MISTAKE, OUT_OF_MEMORY


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
    """

    root: str
    experiment: str
    settings: dict[str, Any]
    seed: int
    run: str
    log: str
    scores: str | None
    devices: str | None


def import_training() -> None:
    """Import what every run needs, and touch no device."""
    import gossipgan.evaluation
    import gossipgan.training  # noqa: F401


def run_trial(request: dict[str, Any]) -> int:
    """Train one run, from its last checkpoint where there is one; returns the process's exit status."""
    wanted = RunRequest(**request)
    log = os.open(wanted.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    if wanted.devices is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = wanted.devices
    import torch

    try:
        _train(wanted)
    except torch.OutOfMemoryError as error:
        print(f"out of memory: {error}", file=sys.stderr)  # noqa: T201
        return OUT_OF_MEMORY
    except MemoryError:
        print("out of memory", file=sys.stderr)  # noqa: T201
        return OUT_OF_MEMORY
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return MISTAKE
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return BROKEN
    return DONE


def _train(wanted: RunRequest) -> None:
    from rich.console import Console

    from gossipgan.config import Settings
    from gossipgan.data import Store
    from gossipgan.evaluation import Ruler, evaluate_run
    from gossipgan.runs import Project, RunDirectory, write_json
    from gossipgan.training import resumable, set_up_device, train

    project = Project(Path(wanted.root))
    settings = Settings.model_validate(wanted.settings)
    run = RunDirectory(Path(wanted.run))
    if run.path.exists() and not run.result.exists() and not resumable(run):
        shutil.rmtree(run.path)
    # The supervisor has compared every file with its checksum.
    store = Store.open(project.prepared, verify=False)
    device = set_up_device(settings.training)
    ruler = Ruler.open(settings, store, project.extractor, project.cache, device)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        train(run, settings, wanted.seed, store, ruler, experiment=wanted.experiment, console=Console(file=nowhere))
    if wanted.scores is not None:
        write_json(Path(wanted.scores), evaluate_run(run, ruler, settings))
