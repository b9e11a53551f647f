"""``gossipgan spectrum``: does the field attract or rotate, where training ended?"""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.cli.train import Data
from gossipgan.config import TrackingSettings, load_params
from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.evaluation import Extremes, Spectrum

#: More than these would take longer, and more memory, than anybody wants.
_MOST = 100

_PICTURES = 128

_WIDTH = 110


def spectrum(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A finished run.")],
    top: Annotated[int, typer.Option("--top", help="How many eigenvalues at each end.")] = 20,
    pictures: Annotated[
        int | None,
        typer.Option(
            "--pictures",
            metavar="N",
            help="Pictures of the training split to take the losses on, and as many made by G.",
            show_default="128, or all",
        ),
    ] = None,
    params: Params = PARAMS,
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="Also draw them here, as in RUN_DIR/spectrum.png.")
    ] = None,
) -> None:
    """Find extreme eigenvalues of both players' Hessians and of the Jacobian of their joint vector field (JVF).

    They are those where training ended, on a fixed batch. Writes spectrum.json and spectrum.png into RUN_DIR, and
    shows them in MLflow where params.yaml has it on.
    """
    from rich.console import Console

    from gossipgan.data import Store
    from gossipgan.evaluation import NotFiniteField, end_of_training, game_spectrum
    from gossipgan.reports.spectrum_plot import png
    from gossipgan.runs import Project, RunDirectory, write_atomic, write_json
    from gossipgan.tracking import show_run
    from gossipgan.training import set_up_device

    if not 1 <= top <= _MOST:
        raise UserError(f"--top {top}: must be from 1 to {_MOST}")
    if plot is not None and plot.suffix != ".png":
        raise UserError(f"--plot {plot}: must end in .png")
    run = RunDirectory(run_dir)
    settings, _ = run.read_settings()
    tracking = load_params(params).shared_settings().tracking if params.exists() else TrackingSettings(mlflow=False)
    store = Store.open(data or Project(params.parent).prepared)
    device = set_up_device(settings.training)
    wanted = min(_PICTURES, store.manifest.counts["train"]) if pictures is None else pictures
    point = end_of_training(run, store, pictures=wanted, device=device)
    with Console(stderr=True).status("") as status:
        try:
            found = game_spectrum(
                point.game,
                point.batch,
                top=top,
                report=lambda name, products: status.update(f"{name}: {products} products with vectors"),
            )
        except NotFiniteField as error:
            raise UserError(f"{run_dir}: no spectrum where training ended: {error}: the run has diverged") from None
    name = f"{point.experiment} seed {point.seed}, step {point.step:,}"
    picture = png(found, f"{name}: spectrum where training ended")
    content = {**point.as_json(), "top": top, **found.as_json()}
    try:
        # The numbers last: where they are, the picture is theirs.
        write_atomic(run.spectrum_plot, picture)
        write_json(run.spectrum, content)
    except OSError as error:
        raise UserError(f"{run_dir}: spectrum.json and spectrum.png cannot be written ({error.strerror})") from None
    if plot is not None:
        _write(plot, picture)
    if as_json:
        typer.echo(json.dumps(content))
    else:
        typer.echo(f"{name}, {point.iterate} weights of G; losses on {wanted} pictures")
        _print(found)
        typer.echo(f"written: {run.spectrum} and {run.spectrum_plot.name}")
    warning = show_run(run, tracking=tracking, root=params.parent.resolve())
    if warning is not None:
        typer.echo(f"warning: {warning}", err=True)


def _write(plot: Path, picture: bytes) -> None:
    from gossipgan.runs import write_atomic

    try:
        write_atomic(plot, picture)
    except OSError as error:
        raise UserError(f"--plot {plot}: cannot be written ({error.strerror})") from None


def _print(found: "Spectrum") -> None:
    from gossipgan.evaluation.spectrum import ROTATING

    for loss, player in (("L_G", found.generator), ("L_D", found.discriminator)):
        typer.echo(
            f"Hessian of {loss} in {loss[-1]}: {player.parameters:,} parameters; {loss} is {player.loss:.4g}, "
            f"the norm of its gradient {player.gradient_norm:.4g}"
        )
        _print_end("largest", player.largest)
        _print_end("smallest", player.smallest)
    jvf = found.jvf
    typer.echo(f"JVF, in G and D: {jvf.parameters:,} parameters")
    _print_end("largest magnitude", jvf.largest)
    _print_end("smallest real part", jvf.leftmost)
    typer.echo(
        f"of {len(jvf.found)} eigenvalues of the JVF {jvf.rotating} rotate (|Im| > {ROTATING:g} |lambda|) and "
        f"{jvf.negative} have a negative real part; spectral radius {jvf.radius:.4g}, "
        f"largest |Im| / |Re| {jvf.steepest:.4g}"
    )
    if found.missing:
        typer.echo(f"{found.missing} eigenvalues did not converge, and are left out")


def _print_end(name: str, end: "Extremes") -> None:
    numbers = [_number(value) for value in end.values.tolist() if value.imag >= 0]
    text = f"{name + ':':<20}{'  '.join(numbers)}"
    if end.missing:
        text += f"  ({end.missing} did not converge)"
    for line in textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent=" " * 22):
        typer.echo(line)


def _number(value: complex) -> str:
    """A conjugate pair is written as one."""
    return f"{value.real:.4g}" + (f"±{value.imag:.4g}i" if value.imag else "")
