"""The app: which commands there are. Each group of commands is a file of this package.

Commands import what is heavy (torch, mlflow, optuna) when they run, so that ``--help`` is quick.
"""

from typing import Annotated

import typer

from gossipgan import __version__
from gossipgan.cli import bench, config, data, game, repro, spectrum, sweep, topology, tracking, train, verify

app = typer.Typer(
    name="gossipgan",
    help="Train GANs by decentralized, Lookahead and centralized methods, and compare them on your data.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(config.app, name="config")
app.command("prepare")(data.prepare)
app.command("extractor")(train.extractor)
app.command("train")(train.train)
app.command("evaluate")(train.evaluate)
app.command("repro")(repro.repro)
app.command("spectrum")(spectrum.spectrum)
app.command("verify")(verify.verify)
app.command("topology")(topology.topology)
app.add_typer(bench.app, name="bench")
app.add_typer(sweep.app, name="sweep")
app.add_typer(tracking.app, name="mlflow")
app.add_typer(game.app, name="game")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gossipgan {__version__}")
        raise typer.Exit


@app.callback()
def _gossipgan(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
