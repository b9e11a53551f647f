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
    """Write every finished run under runs/ to MLflow, where it is missing or differs; may be repeated."""
    from gossipgan.tracking import sync as sync_runs

    root = params.parent.resolve()
    settings = load_params(params).shared_settings()
    synced = sync_runs(root, tracking=settings.tracking)
    typer.echo(f"{len(synced.written)} runs written, {len(synced.unchanged)} already there")
    if synced.unfinished:
        typer.echo(f"not finished: {', '.join(synced.unfinished)}")
    if synced.warning is not None:
        typer.echo(f"warning: {synced.warning}", err=True)
        raise typer.Exit(1)
