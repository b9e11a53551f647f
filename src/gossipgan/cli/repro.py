"""``gossipgan repro``: ``dvc repro``, with all processors or GPUs at work."""

import json
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.cli.sweep.options import places
from gossipgan.config import load_params
from gossipgan.errors import UserError
from gossipgan.runs import run_dvc


def repro(
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            metavar="N",
            help="Runs at a time; default: one for each GPU, or on a CPU as many as have processors for their threads.",
        ),
    ] = None,
    devices: Annotated[
        str | None, typer.Option("--devices", metavar="0,1", help="GPUs, dealt to runs in turn; default: all.")
    ] = None,
    params: Params = PARAMS,
) -> None:
    """Reproduce the experiments: as dvc repro does, but with several runs trained and scored at a time.

    DVC runs one stage after the other. So the runs that it would make are made first, in work/, and its stages take
    them over. Results are those of dvc repro, to the last bit on the same machine. Stopped in any way, the same
    command goes on with it.
    """
    from rich.console import Console

    from gossipgan.sweeps import clear_ahead, report_jobs, train_ahead

    root = params.parent
    if params.name != "params.yaml" or not (root / "dvc.yaml").exists():
        raise UserError(f"{params}: the pipeline's params.yaml is wanted, beside its dvc.yaml")
    loaded = load_params(params)
    dealt = places(devices, None, None)
    _dvc(root, "repro", "extractor")
    stages = {f"train@{name}-{seed}": (name, seed) for name in loaded.experiments for seed in loaded.seeds}
    wanted = [stages[stage] for stage in _changed(root) if stage in stages]
    if len(wanted) > 1:
        with report_jobs(Console()) as show:
            train_ahead(loaded, wanted, workers, dealt, show)
    try:
        _dvc(root, "repro")
    finally:
        clear_ahead(root)


def _changed(root: Path) -> list[str]:
    """Stages that DVC would run."""
    done = run_dvc(root, "status", "--json", stdout=subprocess.PIPE)
    if done.returncode:
        raise UserError("dvc status: failed; what it said stands above")
    return list(json.loads(done.stdout))


def _dvc(root: Path, *command: str) -> None:
    if run_dvc(root, *command).returncode:
        raise UserError(f"dvc {' '.join(command)}: failed; what it said stands above")
