"""``gossipgan verify``: are the recorded results to be had again?"""

from typing import Annotated

import typer

from gossipgan.cli.options import PARAMS, Params


def verify(
    experiment: Annotated[
        list[str] | None, typer.Option("--experiment", "-e", metavar="NAME", help="Only these; default: all.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option("--seed", metavar="N", help="Only these; default: all.")] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            min=0.0,
            metavar="R",
            help="On another machine than the recorded one: accept metrics within this relative difference.",
        ),
    ] = None,
    params: Params = PARAMS,
) -> None:
    """Run the pipeline again in a scratch copy, and compare every metric and every weights file with the record.

    On the machine of the record (same processor, libraries and threads) all must be equal to the last bit. Ends
    with status 1 if anything differs, and says what.
    """
    from gossipgan.reports import verify_project

    verdict = verify_project(params, experiment or (), seed or (), tolerance)
    for line in verdict.lines:
        typer.echo(line)
    if not verdict.reproduced:
        raise typer.Exit(1)
