"""``gossipgan bench``: how fast things are."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.network import Bench

app = typer.Typer(help="Measure how fast things are.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _bench() -> None:
    pass


@app.command()
def network(
    learners: Annotated[int, typer.Option("--learners", "-n", help="How many, one a host.")] = 8,
    bandwidth: Annotated[
        str, typer.Option("--bandwidth", metavar="RATE", help="Of a host's link, each way: bit, kbit, mbit, gbit.")
    ] = "100mbit",
    latency: Annotated[str, typer.Option("--latency", metavar="TIME", help="Of a message: us, ms, s.")] = "0",
    parameters: Annotated[int, typer.Option("--parameters", help="Of G and D together.")] = 575_000,
    steps: Annotated[int, typer.Option("--steps", help="To measure of each exchange.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", help="Also draw the times.")] = None,
) -> None:
    """Time gossip, all-reduce and a server between real processes on hosts with slow links.

    The hosts are Linux network namespaces on this machine, which need root; elsewhere a model alone answers.
    """
    from rich.console import Console

    from gossipgan.mixing.links import Link, parse_bandwidth, parse_latency
    from gossipgan.network import bench_network

    if plot is not None and plot.suffix != ".png":
        raise UserError(f"--plot {plot}: must end in .png")
    link = Link(parse_bandwidth(bandwidth, "--bandwidth"), parse_latency(latency, "--latency"))
    with Console(stderr=True).status("") as status:
        bench = bench_network(learners, link, parameters, steps, status.update)
    if bench.obstacle is not None:
        typer.echo(f"not measured, by the model alone: {bench.obstacle}", err=True)
    elif link.latency and not bench.delayed:
        typer.echo("measured without latency, which the model adds: this kernel has no netem", err=True)
    if plot is not None:
        _draw(plot, bench)
    if as_json:
        typer.echo(json.dumps(bench.as_json()))
    else:
        _print(bench)


def _draw(plot: Path, bench: "Bench") -> None:
    from gossipgan.reports.network_plot import png
    from gossipgan.runs.files import write_atomic

    try:
        write_atomic(plot, png(bench))
    except OSError as error:
        raise UserError(f"--plot {plot}: cannot be written ({error.strerror})") from None


def _print(bench: "Bench") -> None:
    link = bench.link
    typer.echo(
        f"{bench.learners} learners of {bench.parameters:,} float32 parameters, links of "
        f"{link.bandwidth / 1e6:g} Mbit/s each way, {link.latency * 1e3:g} ms; milliseconds a step"
    )
    measured = bench.obstacle is None
    heads = ["busiest link", *(["measured", "computing"] if measured else []), "limit", "model"]
    heads += ["fitted", "to limit"] if measured else []
    typer.echo(f"  {'':<40}" + "".join(f"{head:>13}" for head in heads))
    for row in bench.rows:
        cells = [f"{row.bytes / 1e6:.4g} MB"]
        if row.measured is not None:
            cells += [_ms(row.measured.mean), _ms(row.measured.computing)]
        cells += [_ms(row.limit), _ms(row.modelled)]
        if row.measured is not None and row.fitted is not None:
            cells += [_ms(row.fitted), f"{row.measured.mean / row.limit:.2f}"]
        typer.echo(f"  {f'{row.scheme.name}, {row.scheme.wire}':<40}" + "".join(f"{cell:>13}" for cell in cells))
    typer.echo(
        "limit: the bytes over the bandwidth; model: with latency, no contention; a server's broadcast is a tree"
    )
    if measured:
        model = bench.model
        typer.echo(
            f"fitted to measured: {model.latency * 1e3:.3g} ms a phase, {model.bandwidth / 1e6:.4g} Mbit/s, and "
            f"up to {100 * model.contention:.2g} % more where messages share a link; computing is beside it"
        )
    predictions = bench.predictions()
    typer.echo(f"by the {'fitted model' if measured else 'model'}, for so many learners:")
    typer.echo(f"  {'':<40}" + "".join(f"{size:>13,}" for size in predictions[0][1]))
    for scheme, by_size in predictions:
        cells = [_ms(seconds) for seconds in by_size.values()]
        typer.echo(f"  {f'{scheme.name}, {scheme.wire}':<40}" + "".join(f"{cell:>13}" for cell in cells))


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f}" if seconds < 1 else f"{seconds * 1e3:,.0f}"
