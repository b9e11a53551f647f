"""``gossipgan topology``: what a graph of learners does and costs."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.mixing.summary import Summary


def topology(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="ring, line, star, complete, grid, torus, hypercube, exponential, symmetric-exponential, "
            "one-peer-exponential, random-matching, random-regular, erdos-renyi, small-world, custom.",
            show_default=False,
        ),
    ],
    learners: Annotated[
        int | None,
        typer.Option("--learners", "-n", help="How many learners.", show_default="with --file, those in the file"),
    ] = None,
    weights: Annotated[
        str,
        typer.Option(
            "--weights",
            metavar="NAME",
            help="uniform, metropolis, max-degree, given (the file's), or auto: uniform where it is doubly stochastic, "
            "else metropolis.",
        ),
    ] = "auto",
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds of gossip in a step.")] = 1,
    degree: Annotated[
        int | None,
        typer.Option("--degree", help="random-regular, small-world: neighbours of a learner.", show_default="4"),
    ] = None,
    probability: Annotated[
        float | None,
        typer.Option(
            "--probability",
            help="erdos-renyi: of a link; small-world: of a link's being rewired.",
            show_default="2 ln(n) / n; .1",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of random graphs and matchings.")] = 0,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="custom: edges, `i j` a line, or a weight matrix (text or .npy)."),
    ] = None,
    accuracy: Annotated[float, typer.Option("--accuracy", help="Share of the disagreement that may be left.")] = 0.1,
    parameters: Annotated[int, typer.Option("--parameters", help="Of G and D together.")] = 575_000,
    bandwidth: Annotated[
        str, typer.Option("--bandwidth", metavar="RATE", help="Of a host's link, each way: bit, kbit, mbit, gbit.")
    ] = "100mbit",
    latency: Annotated[str, typer.Option("--latency", metavar="TIME", help="Of a message: us, ms, s.")] = "1ms",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", help="Also draw the graph.")] = None,
) -> None:
    """Print how fast a graph of learners agrees, and what a step costs on it, by all-reduce and by a server."""
    from gossipgan.mixing.links import Link, parse_bandwidth, parse_latency
    from gossipgan.mixing.summary import summarize
    from gossipgan.mixing.topologies import build_schedule, learners_in

    if plot is not None and plot.suffix != ".png":
        raise UserError(f"--plot {plot}: must end in .png")
    link = Link(parse_bandwidth(bandwidth, "--bandwidth"), parse_latency(latency, "--latency"))
    if learners is None and (name != "custom" or file is None):
        raise UserError("-n: how many learners? such as -n 8")
    schedule = build_schedule(
        name,
        learners_in(file) if learners is None and file is not None else learners or 0,
        weights=weights,
        degree=degree,
        probability=probability,
        seed=seed,
        file=file,
    )
    summary = summarize(schedule, rounds, accuracy, parameters, link)
    if plot is not None:
        _draw(plot, summary)
    if as_json:
        typer.echo(json.dumps(summary.as_json()))
    else:
        _print(summary)


def _draw(plot: Path, summary: "Summary") -> None:
    from gossipgan.reports.graph_plot import png
    from gossipgan.runs.files import write_atomic

    try:
        write_atomic(plot, png(summary))
    except OSError as error:
        raise UserError(f"--plot {plot}: cannot be written ({error.strerror})") from None


def _print(summary: "Summary") -> None:
    schedule, degrees = summary.schedule, summary.degrees
    learners = "1 learner" if schedule.learners == 1 else f"{schedule.learners} learners"
    typer.echo(f"{schedule.topology}, {learners}, {schedule.weights} weights{_when(schedule.period)}")
    neighbours = str(degrees.most)
    if degrees.least != degrees.most:
        neighbours = f"{degrees.least} to {degrees.most}, {degrees.mean:.3g} on average"
    drawn = ", as root mean square over draws" if schedule.period is None else ""
    most = drawn or " at most"
    rounds = _rounds(summary.rounds)
    needed = "more than 10^15 rounds"
    if summary.rounds_for_accuracy is not None:
        needed = _rounds(summary.rounds_for_accuracy)
    # A power of rho where rounds are alike and no two directions of disagreement feed one another.
    is_power = schedule.period in (1, None) and math.isclose(summary.contraction, summary.rho**summary.rounds)
    power = f" = rho^{summary.rounds}" if is_power else ""
    for label, text in (
        ("neighbours", neighbours),
        ("rho", f"{summary.rho_in_words}{drawn}"),
        ("spectral gap", _share(1.0 - summary.rho)),
        (f"after {rounds}", f"{_share(summary.contraction)}{power} of the disagreement is left{most}"),
        (f"until {summary.accuracy:g} is left", needed),
    ):
        typer.echo(f"  {label:<22}{text}")
    typer.echo(
        f"a step of {summary.parameters:,} float32 parameters ({_size(summary.bytes)}), links of "
        f"{summary.link.bandwidth / 1e6:g} Mbit/s each way, {summary.link.latency * 1e3:g} ms:"
    )
    typer.echo(f"  {'':<22}{'messages':>10}{'a learner sends':>17}{'all send':>12}{'time':>12}")
    for label, cost in (
        (f"gossip, {rounds}", summary.gossip),
        ("all-reduce", summary.all_reduce),
        ("server", summary.server),
    ):
        typer.echo(
            f"  {label:<22}{cost.messages:>10,.6g}{_size(cost.bytes):>17}{_size(cost.total_bytes):>12}"
            f"{_time(cost.seconds):>12}"
        )
    typer.echo("messages and bytes are the busiest learner's; times are without contention inside the network")


def _when(period: int | None) -> str:
    if period is None:
        return ", drawn anew each round"
    return "" if period == 1 else f", changing with period {period}"


def _rounds(number: int) -> str:
    return "1 round" if number == 1 else f"{number:,} rounds"


def _share(value: float) -> str:
    if 1e-3 <= value < 0.9995:
        return f"{value:.4f}"
    return f"{value:.4g}" if value < 1e-3 else f"{value:.10g}"


def _size(size: float) -> str:
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} B"


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 10 else f"{seconds * 1e3:.4g} ms"
