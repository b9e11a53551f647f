"""``gossipgan mlflow``: the journals, as MLflow shows them."""

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.config import load_params

app = typer.Typer(help="Fill MLflow from the journals of the runs.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """A group of one command is still a group."""


@app.command()
def sync(params: Params = PARAMS) -> None:
    """Write every finished run under runs/, and every sweep of sweeps.db, to MLflow; may be repeated.

    What MLflow shows already is left as it is. Sweeps in another storage: gossipgan sweep sync --storage URL.
    """
    from gossipgan.tracking import sync as sync_runs

    root = params.parent.resolve()
    loaded = load_params(params)
    tracking = loaded.shared_settings().tracking
    synced = sync_runs(root, tracking=tracking, experiments=loaded.experiments, seeds=loaded.seeds, others=True)
    typer.echo(f"{len(synced.written)} runs written, {len(synced.unchanged)} already there")
    if synced.unfinished:
        typer.echo(f"not finished: {', '.join(synced.unfinished)}")
    if synced.warning is not None:
        typer.echo(f"warning: {synced.warning}", err=True)
        raise typer.Exit(1)
    if tracking.mlflow and (root / "sweeps.db").exists():
        from gossipgan.cli.sweep.sync import sync as sync_sweeps

        sync_sweeps(None, None, params)
