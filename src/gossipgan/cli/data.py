"""``gossipgan prepare``: from a source of pictures to the store that everything else reads."""

from pathlib import Path
from typing import Annotated

import typer

from gossipgan.cli.options import PARAMS, Overrides, Params
from gossipgan.config import load_params


def prepare(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The store to write or replace.",
            show_default="data/prepared beside the params file",
        ),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Short for -S data.skip_bad=true: leave unreadable pictures out.")
    ] = False,
    overrides: Overrides = None,
    params: Params = PARAMS,
) -> None:
    """Prepare the pictures: read, fit, split, and write the store."""
    from gossipgan.data import prepare as prepare_store

    given = [*(overrides or ()), *(["data.skip_bad=true"] if skip_bad else [])]
    settings = load_params(params).shared_settings(given)
    store = out or params.parent / "data" / "prepared"
    manifest = prepare_store(settings.data, store)

    skipped = f", {len(manifest.skipped)} unreadable left out" if manifest.skipped else ""
    classes = f"{len(manifest.classes)} classes" if manifest.classes else "no labels"
    typer.echo(
        f"{store}: {manifest.counts['train']} training and {manifest.counts['held_out']} held-out pictures of "
        f"{' x '.join(map(str, manifest.shape))}, {classes}{skipped}; digest {manifest.digest[:12]}"
    )
    for picture in manifest.skipped:
        typer.echo(f"left out {picture.name}: {picture.reason}")
