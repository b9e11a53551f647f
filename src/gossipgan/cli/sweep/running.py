"""``gossipgan sweep``: search for the best settings, and look at what was found."""

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.config import load_params
from gossipgan.errors import UserError

#: Who starts workers.
Launcher = Literal["local", "slurm"]

if TYPE_CHECKING:
    from gossipgan.sweeps import Ended, Options, StudyStorage, SweepView, TrialView

app = typer.Typer(help="Search for the best settings.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The sweep: its file's name, with -2, -3, ... for forks.")]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        envvar="GOSSIPGAN_STORAGE",
        help="sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME; default: sweeps.db beside the params file.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Trials at a time; default: as many as --devices has places."),
]
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
PerTrial = Annotated[
    int | None, typer.Option("--devices-per-trial", min=1, metavar="K", help="GPUs of one trial; default: 1.")
]
PerDevice = Annotated[
    int | None,
    typer.Option("--trials-per-device", min=1, metavar="M", help="Trials on one GPU at a time; default: 1."),
]
TrialProcesses = Annotated[
    int | None,
    typer.Option(
        "--processes", min=1, metavar="N", help="Host a trial's learners in so many processes; default: the file's."
    ),
]
Launch = Annotated[
    Launcher, typer.Option("--launcher", help="Workers are processes of this machine, or jobs of a Slurm cluster.")
]
Slurm = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm",
        metavar="KEY=VALUE",
        help="An option of sbatch for the jobs, such as partition=gpu or gpus-per-node=1; may be given again.",
    ),
]


@app.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The sweep, such as sweeps/lookahead.yaml.")],
    workers: Workers = None,
    trials: Trials = None,
    timeout: Timeout = None,
    storage: Storage = None,
    devices: Devices = None,
    devices_per_trial: PerTrial = None,
    trials_per_device: PerDevice = None,
    processes: TrialProcesses = None,
    fork: Annotated[
        bool,
        typer.Option(
            "--fork", help="Where the space has changed: begin a new study, warm-started with the old trials."
        ),
    ] = False,
    launcher: Launch = "local",
    slurm: Slurm = None,
    params: Params = PARAMS,
) -> None:
    """Run a sweep until its budget is spent. Stopped in any way, the same command goes on with it."""
    places = _places(devices, devices_per_trial, trials_per_device)
    options = _options(workers, trials, timeout, storage, places, processes, params)
    _run(file, options._replace(fork=fork, launcher=launcher, slurm=_slurm(launcher, slurm)), params)


@app.command()
def resume(
    name: Name,
    workers: Workers = None,
    trials: Trials = None,
    timeout: Timeout = None,
    storage: Storage = None,
    devices: Devices = None,
    devices_per_trial: PerTrial = None,
    trials_per_device: PerDevice = None,
    processes: TrialProcesses = None,
    launcher: Launch = "local",
    slurm: Slurm = None,
    params: Params = PARAMS,
) -> None:
    """Go on with a sweep, by the file that it was begun with."""
    file = params.parent / _view(name, storage, params).file
    places = _places(devices, devices_per_trial, trials_per_device)
    options = _options(workers, trials, timeout, storage, places, processes, params)
    _run(file, options._replace(launcher=launcher, slurm=_slurm(launcher, slurm)), params)


@app.command()
def work(
    name: Name,
    workers: Workers = None,
    timeout: Timeout = None,
    storage: Storage = None,
    devices: Devices = None,
    devices_per_trial: PerTrial = None,
    trials_per_device: PerDevice = None,
    processes: TrialProcesses = None,
    params: Params = PARAMS,
) -> None:
    """Take trials of a sweep that was begun on another machine, until none is left; SIGTERM puts them back.

    This machine needs the same project: the params and sweep files, and the same data and extractor.
    """
    from rich.console import Console

    from gossipgan.sweeps import report_sweep, summary, work_on_sweep

    places = _places(devices, devices_per_trial, trials_per_device)
    options = _options(workers, None, timeout, storage, places, processes, params)
    with report_sweep(Console()) as show:
        ended: Ended = work_on_sweep(name, load_params(params), options, show)
    for line in summary(_view(name, options.url, params)):
        typer.echo(line)
    _explain(ended, params)


@app.command()
def fork(name: Name, storage: Storage = None, params: Params = PARAMS) -> None:
    """Where a sweep's file has changed: begin a new study, warm-started with its trials, and run nothing yet."""
    from gossipgan.sweeps import default_url, fork_sweep

    file = params.parent / _view(name, storage, params).file
    made = fork_sweep(file, load_params(params), storage or default_url(params.parent))
    known = sum(one.source is not None for one in _view(made, storage, params).trials)
    typer.echo(f"{made}: begun, knowing {known} trials; gossipgan sweep resume {made} runs it")


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
    """Show the best trial of a sweep; of several objectives, the trials of which no other is better in all."""
    from gossipgan.sweeps import describe_settings, describe_values

    sweep = _view(name, storage, params)
    winner = _winner(sweep, None)
    if len(sweep.objectives) > 1:
        if as_json:
            typer.echo(json.dumps([one.as_dict() for one in sweep.front], indent=2))
            return
        for one in sweep.front:
            typer.echo(f"{one.name}: {describe_values(one, sweep)} ({describe_settings(one)})")
        return
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


@app.command()
def report(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Where to; default: reports/sweeps/NAME beside the params file, which MLflow shows, too.",
        ),
    ] = None,
    storage: Storage = None,
    params: Params = PARAMS,
    as_json: AsJson = False,
) -> None:
    """Write a page about a sweep, finished or not: report.html, its plots as PNG, and report.json."""
    from gossipgan.reports.sweep import write

    root = params.parent.resolve()
    with closing(_open(storage, params)) as opened:
        written = write(opened, name, root / "work" / "sweeps", out or params.parent / "reports" / "sweeps" / name)
    if as_json:
        typer.echo(json.dumps(written.content, indent=2))
    else:
        for line in (written.content["conclusion"], written.content["caveat"]):
            if line:
                typer.echo(line)
        typer.echo(f"report: {written.html}")
    if out is None:
        _mirror(name, storage, params)


@app.command()
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
    workers: Annotated[int, typer.Option("--workers", min=1, metavar="N", help="Runs at a time.")] = 1,
    storage: Storage = None,
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

    from gossipgan.sweeps import ConfirmOptions, default_url, report_jobs
    from gossipgan.sweeps import confirm as confirm_sweep

    options = ConfirmOptions(name, top, seeds, against, steps, workers, storage or default_url(params.parent))
    with report_jobs(Console(stderr=as_json)) as show:
        confirmation = confirm_sweep(options, load_params(params), show)
    from gossipgan.reports.confirmation import lines, write_confirmation

    content = write_confirmation(params.parent, confirmation)
    typer.echo(json.dumps(content, indent=2) if as_json else "\n".join(lines(content)))
    _mirror(name, storage, params)


@app.command()
def sync(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The sweep; default: all of them.")] = None,
    storage: Storage = None,
    params: Params = PARAMS,
) -> None:
    """Write sweeps to MLflow, where they are missing or differ, and close what no longer runs; may be repeated."""
    from gossipgan.sweeps import default_url, sweep_names, sync_sweep

    root, tracking = params.parent.resolve(), load_params(params).shared_settings().tracking
    if not tracking.mlflow:
        raise UserError(f"{params}: tracking.mlflow is false: nothing is written to MLflow")
    with closing(_open(storage, params)) as opened:
        names = [name] if name is not None else sweep_names(opened)
    for one in names:
        shown = sync_sweep(one, storage or default_url(params.parent), tracking=tracking, root=root)
        closed = f"; closed: {', '.join(shown.closed)}" if shown.closed else ""
        typer.echo(f"{one}: {len(shown.written)} trials written, {len(shown.unchanged)} already there{closed}")
        if shown.warning is not None:
            _warn(shown.warning)
            raise typer.Exit(1)


def _mirror(name: str, storage: str | None, params: Path) -> None:
    """Show a sweep in MLflow as it is now; a line where that cannot be done, as what was asked for has been."""
    from gossipgan.sweeps import default_url, sync_sweep

    tracking = load_params(params).shared_settings().tracking
    try:
        warning = sync_sweep(
            name, storage or default_url(params.parent), tracking=tracking, root=params.parent.resolve()
        ).warning
    except UserError as error:
        warning = f"not in MLflow: {error}"
    if warning is not None:
        _warn(warning)


def _warn(line: str) -> None:
    typer.echo(f"warning: {line}", err=True)


def _places(devices: str | None, per_trial: int | None, trials_per_device: int | None) -> tuple[str, ...]:
    from gossipgan.sweeps import deal

    if devices is not None:
        return deal(
            [one.strip() for one in devices.split(",")], per_trial=per_trial, trials_per_device=trials_per_device
        )
    if per_trial is not None or trials_per_device is not None:
        raise UserError("--devices-per-trial and --trials-per-device go with --devices, such as --devices 0,1")
    return ()


def _options(
    workers: int | None,
    trials: int | None,
    timeout: str | None,
    storage: str | None,
    places: tuple[str, ...],
    processes: int | None,
    params: Path,
) -> "Options":
    from gossipgan.sweeps import Options, default_url, seconds

    try:
        limit = None if timeout is None else seconds(timeout)
    except ValueError as error:
        raise UserError(f"--timeout: {error}") from None
    return Options(
        workers=workers or len(places) or 1,
        trials=trials,
        timeout=limit,
        url=storage or default_url(params.parent),
        devices=places,
        fork=False,
        processes=processes,
    )


def _run(file: Path, options: "Options", params: Path) -> None:
    from rich.console import Console

    from gossipgan.sweeps import follow_sweep, report_sweep, run_sweep, summary

    loaded = load_params(params)
    root, tracking = params.parent.resolve(), loaded.shared_settings().tracking
    with (
        follow_sweep(root=root, url=options.url, tracking=tracking, warn=_warn) as shown,
        report_sweep(Console()) as show,
    ):

        def look(sweep: "SweepView") -> None:
            show(sweep)
            shown(sweep)

        ended: Ended = run_sweep(file, loaded, options, look)
    for line in summary(_view(ended.study, options.url, params)):
        typer.echo(line)
    if ended.why == "terminated":
        raise KeyboardInterrupt
    _explain(ended, params)


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
