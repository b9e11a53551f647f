"""``gossipgan sweep run``, ``resume``, ``work``, ``fork`` and ``stop``: who runs trials, and until when."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.cli.sweep.opening import look_at, open_storage, url_of
from gossipgan.cli.sweep.options import Launcher, Name, Start, Storage, places, takes_start
from gossipgan.cli.sweep.sync import warn
from gossipgan.config import load_params
from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.sweeps import Ended, Options, SweepView


@takes_start()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The sweep, such as sweeps/lookahead.yaml.")],
    start: Start,
) -> None:
    """Run a sweep until its budget is spent. Stopped in any way, the same command goes on with it."""
    _run(file, start)


@takes_start(without=("fork",))
def resume(name: Name, start: Start) -> None:
    """Go on with a sweep, by the file that it was begun with."""
    _run(start.params.parent / look_at(name, start.storage, start.params).file, start)


@takes_start(without=("trials", "fork", "launcher", "slurm"))
def work(name: Name, start: Start) -> None:
    """Take trials of a sweep that was begun on another machine, until none is left; SIGTERM puts them back.

    This machine needs the same project: the params and sweep files, and the same data and extractor.
    """
    from rich.console import Console

    from gossipgan.sweeps import report_sweep, summary, work_on_sweep

    options = _options(start)
    with report_sweep(Console()) as show:
        ended: Ended = work_on_sweep(name, load_params(start.params), options, show)
    for line in summary(look_at(name, options.url, start.params)):
        typer.echo(line)
    _explain(ended, start.params)


def fork(name: Name, storage: Storage = None, params: Params = PARAMS) -> None:
    """Where a sweep's file has changed: begin a new study, warm-started with its trials, and run nothing yet."""
    from gossipgan.sweeps import fork_sweep

    file = params.parent / look_at(name, storage, params).file
    made = fork_sweep(file, load_params(params), url_of(storage, params))
    known = sum(one.source is not None for one in look_at(made, storage, params).trials)
    typer.echo(f"{made}: begun, knowing {known} trials; gossipgan sweep resume {made} runs it")


def stop(name: Name, storage: Storage = None, params: Params = PARAMS) -> None:
    """Ask a running sweep to stop: its trials are put back, to be gone on with later."""
    import optuna

    look_at(name, storage, params)
    with closing(open_storage(storage, params)) as opened:
        optuna.load_study(study_name=name, storage=opened.optuna).set_user_attr("stop", True)
    typer.echo(f"{name}: is asked to stop; gossipgan sweep resume {name} goes on with it")


def _run(file: Path, start: Start) -> None:
    from rich.console import Console

    from gossipgan.sweeps import follow_sweep, report_sweep, run_sweep, summary

    options, loaded = _options(start), load_params(start.params)
    root, tracking = start.params.parent.resolve(), loaded.shared_settings().tracking
    with (
        follow_sweep(root=root, url=options.url, tracking=tracking, warn=warn) as shown,
        report_sweep(Console()) as show,
    ):

        def look(sweep: "SweepView") -> None:
            show(sweep)
            shown(sweep)

        ended: Ended = run_sweep(file, loaded, options, look)
    for line in summary(look_at(ended.study, options.url, start.params)):
        typer.echo(line)
    if ended.why == "terminated":
        raise KeyboardInterrupt
    _explain(ended, start.params)


def _options(start: Start) -> "Options":
    from gossipgan.sweeps import Options, seconds

    devices = places(start.devices, start.devices_per_trial, start.trials_per_device)
    try:
        limit = None if start.timeout is None else seconds(start.timeout)
    except ValueError as error:
        raise UserError(f"--timeout: {error}") from None
    return Options(
        workers=start.workers or len(devices) or 1,
        trials=start.trials,
        timeout=limit,
        url=url_of(start.storage, start.params),
        devices=devices,
        fork=start.fork,
        processes=start.processes,
        launcher=start.launcher,
        slurm=_slurm(start.launcher, start.slurm),
    )


def _slurm(launcher: Launcher, given: list[str] | None) -> dict[str, str]:
    """sbatch's options by name."""
    if given and launcher != "slurm":
        raise UserError("--slurm goes with --launcher slurm")
    options = {}
    for one in given or ():
        key, found, value = one.removeprefix("--").partition("=")
        if not key or not found or not value or not key.replace("-", "").replace("_", "").isalnum():
            raise UserError(f"--slurm {one}: KEY=VALUE is wanted, such as partition=gpu")
        options[key] = value
    return options


def _explain(ended: "Ended", params: Path) -> None:
    """Say why a start of a sweep ended before its budget was spent."""
    if ended.why == "interrupted":
        raise KeyboardInterrupt
    if ended.why == "workers":
        raise UserError(
            f"{ended.study}: the workers died again and again; see what they said in "
            f"{params.parent / 'work' / 'sweeps' / ended.study} (worker*.log, slurm/*.out)"
        )
    if ended.why != "done":
        typer.echo(f"stopped ({ended.why}); gossipgan sweep resume {ended.study} goes on with it")
