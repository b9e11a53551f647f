"""``gossipgan sweep confirm``: the best settings again, on fresh seeds."""

import json
from typing import Annotated

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.cli.sweep.opening import url_of
from gossipgan.cli.sweep.options import AsJson, Devices, Name, PerDevice, PerTrial, Storage, places
from gossipgan.cli.sweep.sync import mirror
from gossipgan.config import load_params


def confirm(
    name: Name,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="How many of its best settings.")] = 3,
    seeds: Annotated[int, typer.Option("--seeds", min=1, metavar="N", help="How many fresh seeds.")] = 5,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="SWEEP",
            help="The baseline is the best of this sweep, over its own settings; default: the sweep's baselines.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, metavar="N", help="Runs at a time; default: as many as --devices has places, or 1."
        ),
    ] = None,
    storage: Storage = None,
    devices: Devices = None,
    devices_per_trial: PerTrial = None,
    trials_per_device: PerDevice = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", min=1, metavar="N", help="Iterations; default: the params file's for the experiment."),
    ] = None,
    params: Params = PARAMS,
    as_json: AsJson = False,
) -> None:
    """Run the best settings and the baseline again, on fresh seeds at the full budget, and say what that shows.

    Stopped in any way, the same command goes on with it.
    """
    from rich.console import Console

    from gossipgan.sweeps import ConfirmOptions, report_jobs
    from gossipgan.sweeps import confirm as confirm_sweep

    dealt = places(devices, devices_per_trial, trials_per_device)
    options = ConfirmOptions(
        name, top, seeds, against, steps, workers or len(dealt) or 1, url_of(storage, params), dealt
    )
    with report_jobs(Console(stderr=as_json)) as show:
        confirmation = confirm_sweep(options, load_params(params), show)
    from gossipgan.reports.confirmation import lines, write_confirmation

    content = write_confirmation(params.parent, confirmation)
    typer.echo(json.dumps(content, indent=2) if as_json else "\n".join(lines(content)))
    mirror(name, storage, params)
