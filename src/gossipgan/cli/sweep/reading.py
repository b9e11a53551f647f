"""``gossipgan sweep status``, ``trials``, ``best``, ``export`` and ``report``: what was found."""

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.cli.sweep.opening import look_at, open_storage
from gossipgan.cli.sweep.options import AsJson, MaybeName, Name, Storage
from gossipgan.cli.sweep.sync import mirror
from gossipgan.config import load_params
from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.sweeps import SweepView, TrialView


def status(
    name: MaybeName = None,
    storage: Storage = None,
    params: Params = PARAMS,
    as_json: AsJson = False,
) -> None:
    """Show how far sweeps have come: running trials, the best so far against the baselines, outcomes."""
    from gossipgan.sweeps import describe_trial, summary, sweep_names

    with closing(open_storage(storage, params)) as opened:
        names = [name] if name is not None else sweep_names(opened)
    views = [look_at(one, storage, params) for one in names]
    if as_json:
        content = [one.as_dict() for one in views]
        typer.echo(json.dumps(content if name is None else content[0], indent=2))
        return
    for sweep in views:
        typer.echo(f"{sweep.name}: {sweep.file}")
        for line in [*summary(sweep), *(describe_trial(one) for one in sweep.running)]:
            typer.echo(f"  {line}")


def trials(name: Name, storage: Storage = None, params: Params = PARAMS, as_json: AsJson = False) -> None:
    """List all trials of a sweep."""
    from gossipgan.sweeps import describe_trial

    sweep = look_at(name, storage, params)
    everything = [*sweep.baselines, *sweep.trials]
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in everything], indent=2))
        return
    for one in everything:
        typer.echo(describe_trial(one))


def best(name: Name, storage: Storage = None, params: Params = PARAMS, as_json: AsJson = False) -> None:
    """Show the best trial of a sweep; of several objectives, the trials of which no other is better in all."""
    from gossipgan.sweeps import describe_settings, describe_values

    sweep = look_at(name, storage, params)
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


def export(
    name: Name,
    experiment: Annotated[
        str | None,
        typer.Option("--as", metavar="EXPERIMENT", help="Name of the experiment; default: the sweep's and -best."),
    ] = None,
    trial: Annotated[
        int | None, typer.Option("--trial", min=0, metavar="N", help="This trial; default: the best.")
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Leave out how long the sweep's trials are, and their threads: it runs at the params file's budget.",
        ),
    ] = False,
    storage: Storage = None,
    params: Params = PARAMS,
) -> None:
    """Write the best trial into the params file as an experiment, which gives the trial's score again."""
    from gossipgan.sweeps import export as export_trial
    from gossipgan.sweeps import load_sweep

    sweep = look_at(name, storage, params)
    winner = _winner(sweep, trial)
    file = load_sweep(params.parent / sweep.file, load_params(params))
    experiment = experiment or f"{name}-best"
    left_out = export_trial(file, winner, experiment, full=full)
    seeds = " ".join(map(str, file.seeds))
    says = f"{params}: experiments.{experiment}: {winner.name}, {sweep.metric} {winner.score} at seed {seeds}"
    if left_out:
        says += f" as a trial; without {', '.join(left_out)} of the sweep its score will differ"
    typer.echo(says)


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
    with closing(open_storage(storage, params)) as opened:
        written = write(opened, name, root / "work" / "sweeps", out or params.parent / "reports" / "sweeps" / name)
    if as_json:
        typer.echo(json.dumps(written.content, indent=2))
    else:
        for line in (written.content["conclusion"], written.content["caveat"]):
            if line:
                typer.echo(line)
        typer.echo(f"report: {written.html}")
    if out is None:
        mirror(name, storage, params)


def _winner(sweep: "SweepView", number: int | None) -> "TrialView":
    if number is None:
        if sweep.best is None:
            raise UserError(f"{sweep.name}: no trial has ended well yet")
        return sweep.best
    found = next((one for one in sweep.trials if one.number == number), None)
    if found is None:
        raise UserError(f"--trial {number}: {sweep.name} has trials 0 to {len(sweep.trials) - 1}")
    return found
