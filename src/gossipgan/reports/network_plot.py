"""The picture of exchanges over a slow network, as PNG: times beside their limits, and how they grow with learners.

The bytes depend on the numbers and on matplotlib's version alone.
"""

import io

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from gossipgan.network import Bench

_DPI = 160
_INK, _FAINT = "#1c2128", "#d9dde3"

#: Colours that colour-blind people tell apart (after Okabe and Ito).
_COLOURS = {
    "gossip, one-peer-exponential": "#0072b2",
    "gossip, ring": "#009e73",
    "gossip, exponential": "#b3579a",
    "all-reduce": "#d55e00",
    "server": "#5b6470",
}


def png(bench: Bench) -> bytes:
    """What was measured (or modelled) beside the limits; and the model's times up to 10,000 learners."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "font.family": "DejaVu Sans",
                "text.color": _INK,
                "axes.labelcolor": _INK,
                "xtick.color": _INK,
                "ytick.color": _INK,
                "axes.spines.top": False,
                "axes.spines.right": False,
            }
        )
        figure = Figure(figsize=(12.5, 5.6), layout="constrained")
        times, lines = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _draw_times(times, bench)
        _draw_lines(lines, bench)
        link = bench.link
        figure.suptitle(
            f"{bench.learners} learners of {bench.parameters:,} parameters, links of {link.bandwidth / 1e6:g} Mbit/s"
            f"{f', {link.latency * 1e3:g} ms' if link.latency else ''}",
            fontsize=12,
            fontweight="bold",
        )
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    return file.getvalue()


def _draw_times(axes: Axes, bench: Bench) -> None:
    measured = bench.obstacle is None
    for place, row in enumerate(bench.rows):
        time = 1e3 * (row.measured.mean if row.measured is not None else row.modelled)
        colour = _COLOURS[row.scheme.name]
        axes.plot([1e3 * row.limit, time], [place, place], color=colour, linewidth=2.4, zorder=2)
        axes.plot(1e3 * row.limit, place, "|", markersize=14, markeredgewidth=2.2, color=_INK, zorder=3)
        axes.plot(time, place, "o", markersize=8, color=colour, zorder=4)
        axes.annotate(
            f"{time:,.0f}", (time, place), xytext=(9, 0), textcoords="offset points", va="center", fontsize=8.5
        )
    axes.set_yticks(
        range(len(bench.rows)), [f"{row.scheme.name}, {row.scheme.wire}" for row in bench.rows], fontsize=8.5
    )
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.grid(True, color=_FAINT, linewidth=0.6, zorder=0)
    what = "measured" if measured else "by the model"
    axes.set_title(f"a step: {what} (dot), bytes over bandwidth (bar)", fontsize=11)
    axes.set_xlabel("milliseconds")


def _draw_lines(axes: Axes, bench: Bench) -> None:
    predictions = [(scheme, by_size) for scheme, by_size in bench.predictions() if scheme.wire == "float32"]
    sizes = list(predictions[0][1])
    for scheme, by_size in sorted(predictions, key=lambda one: -one[1][sizes[-1]]):
        axes.plot(sizes, list(by_size.values()), color=_COLOURS[scheme.name], linewidth=1.8, label=scheme.name)
    for row in bench.rows:
        if row.measured is not None and row.scheme.wire == "float32":
            axes.plot(bench.learners, row.measured.mean, "o", color=_COLOURS[row.scheme.name], zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
    axes.grid(True, color=_FAINT, linewidth=0.6, zorder=0)
    axes.set_xlabel("learners")
    axes.set_ylabel("seconds a step")
    axes.set_title("float32, by the model" + (" (dots: measured)" if bench.obstacle is None else ""), fontsize=11)
    axes.legend(fontsize=8.5, framealpha=1, edgecolor=_FAINT)
