"""``gossipgan sweep sync``, and what other commands show in MLflow when they end."""

from contextlib import closing
from pathlib import Path

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.cli.sweep.opening import open_storage, url_of
from gossipgan.cli.sweep.options import MaybeName, Storage
from gossipgan.config import load_params
from gossipgan.errors import UserError


def sync(
    name: MaybeName = None,
    storage: Storage = None,
    params: Params = PARAMS,
) -> None:
    """Write sweeps to MLflow, where they are missing or differ, and close what no longer runs; may be repeated."""
    from gossipgan.sweeps import sweep_names, sync_sweep

    root, tracking = params.parent.resolve(), load_params(params).shared_settings().tracking
    if not tracking.mlflow:
        raise UserError(f"{params}: tracking.mlflow is false: nothing is written to MLflow")
    with closing(open_storage(storage, params)) as opened:
        names = [name] if name is not None else sweep_names(opened)
    for one in names:
        shown = sync_sweep(one, url_of(storage, params), tracking=tracking, root=root)
        closed = f"; closed: {', '.join(shown.closed)}" if shown.closed else ""
        typer.echo(f"{one}: {len(shown.written)} trials written, {len(shown.unchanged)} already there{closed}")
        if shown.warning is not None:
            warn(shown.warning)
            raise typer.Exit(1)


def mirror(name: str, storage: str | None, params: Path) -> None:
    """Show a sweep in MLflow as it is now; a line where that cannot be done, as what was asked for has been."""
    from gossipgan.sweeps import sync_sweep

    tracking = load_params(params).shared_settings().tracking
    try:
        warning = sync_sweep(name, url_of(storage, params), tracking=tracking, root=params.parent.resolve()).warning
    except UserError as error:
        warning = f"not in MLflow: {error}"
    if warning is not None:
        warn(warning)


def warn(line: str) -> None:
    typer.echo(f"warning: {line}", err=True)
