"""``gossipgan game``: the games that the methods are explained on."""

import inspect
import json
import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.games.toy import Outcome, Setup
    from gossipgan.games.toy.lab import Comparison

app = typer.Typer(help="Play small games with exact answers.", no_args_is_help=True, rich_markup_mode=None)

#: Lines of the printed table, about.
_LINES = 12


def _shared(
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="gda, alt-gda, eg, ogda, adam, extra-adam; la- in front: with Lookahead; in bilinear also dposg.",
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
    passes: Annotated[
        int | None,
        typer.Option("--passes", help="How long, in evaluations of both gradients.", show_default="300, else 3000"),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", help="How many seeds: 0, 1, ...", show_default="5; 100 in noisy"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="Also draw distances, and paths in the plane.")
    ] = None,
) -> None:
    """The options of every game: ``_command`` puts them in front of a game's own."""


def _command(setup_of: Callable[..., "Setup"]) -> Callable[..., "Setup"]:
    """Add the command of one game.

    Args:
        setup_of: gives what is played. Its first argument holds the settings of the method that were given, for Setup;
            the others are the game's own options.
    """
    parameters = inspect.signature(setup_of).parameters
    shared = inspect.signature(_shared).parameters
    options = [*shared.values(), *list(parameters.values())[1:]]

    @wraps(setup_of)
    def command(*, as_json: bool, plot: Path | None, **given: Any) -> None:
        method = {name: given[name] for name in shared if given.get(name) is not None}
        _play(setup_of(method, **{name: given[name] for name in given if name not in shared}), as_json, plot)

    command.__dict__["__signature__"] = inspect.Signature(
        [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    )
    command.__annotations__ = {option.name: option.annotation for option in options}
    app.command()(command)
    return setup_of


@_command
def bilinear(
    method: dict[str, Any],
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
    start: Annotated[
        str,
        typer.Option("--start", metavar="zero|normal|small", help="Where players start: 0, N(0, I) or N(0, I/dim)."),
    ] = "zero",
    quirk: Annotated[
        list[str] | None,
        typer.Option(
            "--quirk",
            metavar="NAME",
            help="As the Lookahead paper's notebooks: batch-is-a-pass, three-pass-eg, fresh-batches, uncorrected-adam, "
            "or notebook for all of them; may be given again.",
        ),
    ] = None,
) -> "Setup":
    """Play x'y + a'x + b'y, in full or on batches, and print how near the players come to its solution.

    Distances are recorded at the ends of cycles: every k iterations with Lookahead, every one without. A pass is over
    all samples.
    """
    from gossipgan.games.toy import BilinearSetup

    return BilinearSetup(
        **method,
        learners=learners,
        topology=topology,
        rounds=rounds,
        dim=dim,
        batch=_batch(batch),
        start=start,
        quirk=tuple(quirk or ()),
    )


@_command
def noisy(
    method: dict[str, Any],
    dim: Annotated[int, typer.Option("--dim", help="Dimension of each player.")] = 1,
    noise: Annotated[
        float, typer.Option("--noise", help="Standard deviation of the noise in each coordinate of a gradient.")
    ] = 0.1,
    start: Annotated[
        str, typer.Option("--start", metavar="zero|normal", help="Where players start: at the solution, or N(0, I).")
    ] = "normal",
) -> "Setup":
    """Play x'y with Gaussian noise in every gradient, and print where it keeps the players.

    Beside the mean squared distance of the later half stands the exact one of the stationary distribution.
    """
    from gossipgan.games.toy import NoisySetup

    return NoisySetup(**method, dim=dim, noise=noise, start=start)


@_command
def cubic(
    method: dict[str, Any],
    form: Annotated[
        str, typer.Option("--form", metavar="NAME", help="almost-bilinear or forsaken.")
    ] = "almost-bilinear",
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="almost-bilinear: weight of its cubic part.", show_default=".01")
    ] = None,
    start: Annotated[
        str,
        typer.Option("--start", metavar="normal|near", help="Around the solution: N(0, I), or a tenth as far."),
    ] = "normal",
) -> "Setup":
    """Play xy + eps (y^2/2 - y^4/4), or x (y - .45) + h(x) - h(y) with h = z^2/4 - z^4/2 + z^6/6, in the plane.

    The flow of both is drawn to a cycle around the solution. Contraction is measured near the solution, beside that
    of the linearization there.
    """
    from gossipgan.games.toy import CubicSetup

    return CubicSetup(**method, form=form, epsilon=epsilon, start=start)


def _batch(given: str) -> int | None:
    if given == "full":
        return None
    try:
        return int(given)
    except ValueError:
        raise UserError(f"--batch {given}: must be full or a whole number") from None


def _play(setup: "Setup", as_json: bool, plot: Path | None) -> None:
    if plot is not None and plot.suffix != ".png":
        raise UserError(f"--plot {plot}: must end in .png")
    outcome = setup.run()
    if plot is not None:
        _write(plot, outcome)
    if as_json:
        typer.echo(json.dumps(outcome.as_json()))
    else:
        _print(outcome)


def _write(plot: Path, outcome: "Outcome") -> None:
    from gossipgan.games.toy.plot import png
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
    typer.echo(outcome.setup.in_words)
    if trajectory.consensus is not None:
        typer.echo("distances of the learners' average; consensus distance: root mean square of theirs from it")
    for comparison in outcome.comparisons:
        typer.echo(_compared(comparison))


def _compared(comparison: "Comparison") -> str:
    predicted = f"none ({comparison.otherwise})" if comparison.predicted is None else _number(comparison.predicted)
    if comparison.measured is None:
        return f"{comparison.words}: predicted {predicted}"
    values = [value for value in comparison.measured if value is not None]
    measured = _number(math.fsum(values) / len(values)) if values else "none (no two distances to go by)"
    return f"{comparison.words}: measured {measured}, predicted {predicted}"


def _number(value: float) -> str:
    return f"{value:.4f}" if 0.1 <= value < 1e4 else f"{value:.4g}"
