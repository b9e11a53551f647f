"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Params = Annotated[
    Path,
    typer.Option("--params", metavar="FILE", help="Settings and experiments; its folder is the project's."),
]

Experiment = Annotated[
    str | None,
    typer.Option("--experiment", "-e", metavar="NAME", help="A name under experiments in the params file."),
]

Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-S",
        metavar="KEY=VALUE",
        help="Override a setting, such as -S training.steps=200; may be given again, the last wins.",
    ),
]

PARAMS = Path("params.yaml")
