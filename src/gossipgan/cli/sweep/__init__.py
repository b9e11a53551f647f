"""``gossipgan sweep``: search for the best settings, and look at what was found."""

import typer

from gossipgan.cli.sweep.confirm import confirm
from gossipgan.cli.sweep.reading import best, export, report, status, trials
from gossipgan.cli.sweep.running import fork, resume, run, stop, work
from gossipgan.cli.sweep.sync import sync

app = typer.Typer(help="Search for the best settings.", no_args_is_help=True, rich_markup_mode=None)

for command in (run, resume, work, fork, status, trials, best, stop, export, report, confirm, sync):
    app.command()(command)
