"""``gossipgan game``: the games that the methods are explained on."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.games.bilinear import Outcome

app = typer.Typer(help="Play small games with exact answers.", no_args_is_help=True, rich_markup_mode=None)

#: Lines of the printed table, about.
_LINES = 12


@app.callback()
def _group() -> None:
    """A group of one command is still a group."""


@app.command()
def bilinear(
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="gda, alt-gda, eg, ogda, adam, extra-adam; la- in front: with Lookahead; dposg.",
        ),
    ] = "la-gda",
    eta: Annotated[float, typer.Option("--eta", help="Step size.")] = 0.3,
    k: Annotated[
        int | None, typer.Option("--k", help="Lookahead: steps between syncs.", show_default="6, with la-")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="Lookahead: share of the fast weights.", show_default=".5, with la-")
    ] = None,
    super_k: Annotated[
        int | None, typer.Option("--super-k", help="Nested Lookahead: steps between its syncs, a multiple of k.")
    ] = None,
    super_alpha: Annotated[
        float | None, typer.Option("--super-alpha", help="Nested Lookahead: its share.", show_default=".5")
    ] = None,
    beta1: Annotated[float | None, typer.Option("--beta1", help="Adam: may be negative.", show_default=".9")] = None,
    beta2: Annotated[float | None, typer.Option("--beta2", help="Adam.", show_default=".999")] = None,
    learners: Annotated[
        int | None, typer.Option("--learners", help="dposg: how many learners.", show_default="8, with dposg")
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option("--topology", metavar="NAME", help="dposg: ring, complete or exponential.", show_default="ring"),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option("--rounds", help="dposg: rounds of gossip an iteration.", show_default="1")
    ] = None,
    dim: Annotated[int, typer.Option("--dim", help="Dimension of each player, and number of samples.")] = 100,
    batch: Annotated[str, typer.Option("--batch", metavar="full|B", help="Samples in a batch.")] = "full",
    passes: Annotated[int, typer.Option("--passes", help="How long, in passes over the samples.")] = 300,
    seeds: Annotated[int, typer.Option("--seeds", help="How many seeds: 0, 1, ...")] = 5,
    start: Annotated[str, typer.Option("--start", metavar="zero|normal", help="Where players start.")] = "zero",
    extrapolation_passes: Annotated[
        int,
        typer.Option("--extrapolation-passes", help="What eg's extra evaluation counts; 2 as the paper's notebook."),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", help="Also draw the distances.")] = None,
) -> None:
    """Play x'y + a'x + b'y, in full or on batches, and print how near the players come to its solution.

    Distances are recorded at the ends of cycles: every k iterations with Lookahead, every one without.
    """
    from gossipgan.games.bilinear import Setup, run

    setup = Setup(
        method=method,
        eta=eta,
        k=k,
        alpha=alpha,
        super_k=super_k,
        super_alpha=super_alpha,
        beta1=beta1,
        beta2=beta2,
        learners=learners,
        topology=topology,
        rounds=rounds,
        dim=dim,
        batch=_batch(batch),
        passes=passes,
        seeds=seeds,
        start=start,
        extrapolation_passes=extrapolation_passes,
    )
    if plot is not None and plot.suffix != ".png":
        raise UserError(f"--plot {plot}: must end in .png")
    outcome = run(setup)
    if plot is not None:
        _write(plot, outcome)
    if as_json:
        typer.echo(json.dumps(outcome.as_json()))
    else:
        _print(outcome)


def _batch(given: str) -> int | None:
    if given == "full":
        return None
    try:
        return int(given)
    except ValueError:
        raise UserError(f"--batch {given}: must be full or a whole number") from None


def _write(plot: Path, outcome: "Outcome") -> None:
    from gossipgan.games.bilinear.plot import png
    from gossipgan.runs.files import write_atomic

    try:
        write_atomic(plot, png(outcome))
    except OSError as error:
        raise UserError(f"--plot {plot}: cannot be written ({error.strerror})") from None


def _print(outcome: "Outcome") -> None:
    trajectory = outcome.trajectory
    points = len(trajectory.iterations)
    shown = sorted({round(line * (points - 1) / (_LINES - 1)) for line in range(_LINES)})
    heading = f"{'passes':>10}  {'iterations':>10}  {'joint distance (min .. max)':>36}  {'|x-x*| + |y-y*|':>15}"
    typer.echo(heading if trajectory.consensus is None else f"{heading}  {'consensus distance':>18}")
    for point in shown:
        distance, sums = trajectory.distance[point], trajectory.sum_of_norms[point]
        spread = f"{distance.mean():.4e} ({distance.min():.2e} .. {distance.max():.2e})"
        line = f"{outcome.passes[point]:10g}  {trajectory.iterations[point]:10d}  {spread:>36}  {sums.mean():15.4e}"
        if trajectory.consensus is not None:
            line += f"  {trajectory.consensus[point].mean():18.4e}"
        typer.echo(line)
    seeds = "1 seed" if outcome.setup.seeds == 1 else f"means over {outcome.setup.seeds} seeds"
    typer.echo(f"{seeds}; joint distance is sqrt(|x-x*|^2 + |y-y*|^2)")
    if trajectory.consensus is not None:
        typer.echo(
            f"{outcome.setup.mixing_in_words}: distances of their average; "
            "consensus distance: root mean square of theirs from it"
        )
    if outcome.measured is not None:
        cycle = "an iteration" if outcome.cycle == 1 else f"a cycle of {outcome.cycle} iterations"
        typer.echo(f"contraction of {cycle}: {_contraction(outcome.measured, outcome.predicted)}")
    if outcome.consensus_measured is not None:
        consensus = _contraction(outcome.consensus_measured, outcome.consensus_predicted)
        typer.echo(f"contraction of the consensus distance: {consensus}")


def _contraction(measured: list[float | None], predicted: float | None) -> str:
    factors = [factor for factor in measured if factor is not None]
    seen = f"{math.fsum(factors) / len(factors):.4f}" if factors else "none (no two distances to go by)"
    expected = "none (not linear)" if predicted is None else f"{predicted:.4f}"
    return f"measured {seen}, predicted {expected}"
