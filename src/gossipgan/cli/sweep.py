"""``gossipgan sweep``: search for the best settings, and look at what was found."""

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.config import load_params
from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.sweeps import Ended, StudyStorage, SweepView, TrialView

app = typer.Typer(help="Search for the best settings.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The sweep: its file's name, with -2, -3, ... for forks.")]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        help="sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME; default: sweeps.db beside the params file.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Workers = Annotated[int, typer.Option("--workers", min=1, metavar="N", help="Trials at a time.")]
Trials = Annotated[
    int | None, typer.Option("--trials", min=1, metavar="N", help="Trials in all, instead of the file's budget.")
]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help="Stop after so long, such as 90s, 15m or 2h.")
]
Devices = Annotated[
    str | None,
    typer.Option("--devices", metavar="0,1", help="GPUs, dealt to the workers in turn; default: each sees all."),
]


@app.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The sweep, such as sweeps/lookahead.yaml.")],
    workers: Workers = 1,
    trials: Trials = None,
    timeout: Timeout = None,
    storage: Storage = None,
    devices: Devices = None,
    fork: Annotated[
        bool,
        typer.Option(
            "--fork", help="Where the space has changed: begin a new study, warm-started with the old trials."
        ),
    ] = False,
    params: Params = PARAMS,
) -> None:
    """Run a sweep until its budget is spent. Stopped in any way, the same command goes on with it."""
    _run(file, workers, trials, timeout, storage, devices, fork, params)


@app.command()
def resume(
    name: Name,
    workers: Workers = 1,
    trials: Trials = None,
    timeout: Timeout = None,
    storage: Storage = None,
    devices: Devices = None,
    params: Params = PARAMS,
) -> None:
    """Go on with a sweep, by the file that it was begun with."""
    _run(params.parent / _view(name, storage, params).file, workers, trials, timeout, storage, devices, False, params)


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The sweep; default: all of them.")] = None,
    storage: Storage = None,
    params: Params = PARAMS,
    as_json: AsJson = False,
) -> None:
    """Show how far sweeps have come: running trials, the best so far against the baselines, outcomes."""
    from gossipgan.sweeps import describe_trial, summary, sweep_names

    names = [name] if name is not None else sweep_names(_open(storage, params))
    views = [_view(one, storage, params) for one in names]
    if as_json:
        content = [one.as_dict() for one in views]
        typer.echo(json.dumps(content if name is None else content[0], indent=2))
        return
    for sweep in views:
        typer.echo(f"{sweep.name}: {sweep.file}")
        for line in [*summary(sweep), *(describe_trial(one) for one in sweep.running)]:
            typer.echo(f"  {line}")


@app.command()
def trials(name: Name, storage: Storage = None, params: Params = PARAMS, as_json: AsJson = False) -> None:
    """List all trials of a sweep."""
    from gossipgan.sweeps import describe_trial

    sweep = _view(name, storage, params)
    everything = [*sweep.baselines, *sweep.trials]
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in everything], indent=2))
        return
    for one in everything:
        typer.echo(describe_trial(one))


@app.command()
def best(name: Name, storage: Storage = None, params: Params = PARAMS, as_json: AsJson = False) -> None:
    """Show the best trial of a sweep."""
    sweep = _view(name, storage, params)
    winner = _winner(sweep, None)
    if as_json:
        typer.echo(json.dumps(winner.as_dict(), indent=2))
        return
    typer.echo(f"{winner.name}: {sweep.metric} {winner.score}, in {winner.folder}")
    for key, value in winner.settings.items():
        typer.echo(f"{key}: {value}")


@app.command()
def stop(name: Name, storage: Storage = None, params: Params = PARAMS) -> None:
    """Ask a running sweep to stop: its trials are put back, to be gone on with later."""
    import optuna

    from gossipgan.sweeps import StudyStorage

    _view(name, storage, params)
    opened: StudyStorage = _open(storage, params)
    optuna.load_study(study_name=name, storage=opened.optuna).set_user_attr("stop", True)
    typer.echo(f"{name}: is asked to stop; gossipgan sweep resume {name} goes on with it")


@app.command()
def export(
    name: Name,
    experiment: Annotated[
        str | None,
        typer.Option("--as", metavar="EXPERIMENT", help="Name of the experiment; default: the sweep's and -best."),
    ] = None,
    trial: Annotated[
        int | None, typer.Option("--trial", min=0, metavar="N", help="This trial; default: the best.")
    ] = None,
    storage: Storage = None,
    params: Params = PARAMS,
) -> None:
    """Write the best trial into the params file as an experiment, which gives the trial's score again."""
    from gossipgan.sweeps import export as export_trial
    from gossipgan.sweeps import load_sweep

    sweep = _view(name, storage, params)
    winner = _winner(sweep, trial)
    file = load_sweep(params.parent / sweep.file, load_params(params))
    written = export_trial(file, winner, experiment or f"{name}-best")
    seeds = " ".join(map(str, file.seeds))
    typer.echo(f"{params}: experiments.{written}: {winner.name}, {sweep.metric} {winner.score} at seed {seeds}")


def _run(
    file: Path,
    workers: int,
    trials: int | None,
    timeout: str | None,
    storage: str | None,
    devices: str | None,
    fork: bool,
    params: Path,
) -> None:
    from rich.console import Console

    from gossipgan.sweeps import Options, default_url, report_sweep, run_sweep, seconds, summary

    try:
        limit = None if timeout is None else seconds(timeout)
    except ValueError as error:
        raise UserError(f"--timeout: {error}") from None
    dealt = tuple(one.strip() for one in devices.split(",")) if devices is not None else ()
    if not all(one.isdecimal() for one in dealt):
        raise UserError(f"--devices {devices}: numbers of GPUs are wanted, such as 0,1")
    options = Options(
        workers=workers,
        trials=trials,
        timeout=limit,
        url=storage or default_url(params.parent),
        devices=dealt,
        fork=fork,
    )
    with report_sweep(Console()) as show:
        ended: Ended = run_sweep(file, load_params(params), options, show)
    for line in summary(_view(ended.study, storage, params)):
        typer.echo(line)
    if ended.why == "interrupted":
        raise KeyboardInterrupt
    if ended.why == "workers":
        raise UserError(
            f"{ended.study}: the workers died again and again; see "
            f"{params.parent / 'work' / 'sweeps' / ended.study / 'worker-0.log'}"
        )
    if ended.why != "done":
        typer.echo(f"stopped ({ended.why}); gossipgan sweep resume {ended.study} goes on with it")


def _open(storage: str | None, params: Path) -> "StudyStorage":
    import optuna

    from gossipgan.sweeps import StudyStorage, default_url

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return StudyStorage(storage or default_url(params.parent), create=False)


def _view(name: str, storage: str | None, params: Path) -> "SweepView":
    from gossipgan.sweeps import view

    with closing(_open(storage, params)) as opened:
        return view(opened, name, params.parent.resolve() / "work" / "sweeps")


def _winner(sweep: "SweepView", number: int | None) -> "TrialView":
    if number is None:
        if sweep.best is None:
            raise UserError(f"{sweep.name}: no trial has ended well yet")
        return sweep.best
    found = next((one for one in sweep.trials if one.number == number), None)
    if found is None:
        raise UserError(f"--trial {number}: {sweep.name} has trials 0 to {len(sweep.trials) - 1}")
    return found
