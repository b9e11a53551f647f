"""Pictures of a comparison, as PNG, on a light or on a dark ground.

The bytes depend on the numbers and on matplotlib's version alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from PIL import Image

from gossipgan.reports.comparison import Comparison
from gossipgan.reports.curves import Band, Row, band
from gossipgan.reports.look import COLOURS, INK, png, style, thousands
from gossipgan.reports.ruler import MetricName

_LINES = ("-", "--", ":")


def plots(comparison: Comparison, table: Sequence[Row], dark: bool) -> dict[str, bytes]:
    """Every picture by its name: losses, score curves, final scores, samples side by side."""
    with style(dark=dark):
        pictures = {
            f"{metric}_by_step": png(figure)
            for metric in ("loss_d", "loss_g")
            if (figure := _curve(comparison, table, metric, "step", dark)) is not None
        }
        for metric in comparison.headlines:
            if metric.kind == "fid":
                for axis in ("step", "images"):
                    figure = _curve(comparison, table, metric, axis, dark)
                    if figure is not None:
                        pictures[f"fid_by_{axis}"] = png(figure)
        pictures |= {f"final_{metric.kind}": png(_final(comparison, metric, dark)) for metric in comparison.headlines}
        samples = _samples(comparison)
        if samples is not None:
            pictures["samples"] = png(samples)
    return pictures


def _curve(
    comparison: Comparison, table: Sequence[Row], metric: MetricName | str, axis: str, dark: bool
) -> Figure | None:
    key = metric if isinstance(metric, str) else metric.key
    bands = {
        name: found
        for name in (comparison.baseline, *comparison.others)
        if (found := band(table, name, key, axis, comparison.ok_seeds(name))) is not None
    }
    if not bands:
        return None
    figure = Figure(figsize=(5.6, 3.7), layout="constrained")
    axes = figure.add_subplot()
    for name, curve in bands.items():
        colour, line = _look(comparison, name, dark)
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        # The baseline is drawn first, and thicker, so that a curve that covers it does not hide it.
        width = 3.4 if name == comparison.baseline else 1.7
        axes.plot(curve.x, curve.mean, color=colour, linestyle=line, linewidth=width, label=name, **_marker(curve))
    axes.set_xlabel("iterations" if axis == "step" else "real pictures seen")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.set_xlim(left=0)
    if isinstance(metric, MetricName):
        floor = comparison.floor_of(metric)
        if floor is not None:
            axes.axhline(floor[1], color=INK[dark], linestyle=(0, (5, 3)), linewidth=1.2, label="floor")
        low = min(float(curve.low.min()) for curve in bands.values())
        high = max(float(curve.high.max()) for curve in bands.values())
        label = metric.label
        if low > 0 and high / low > 5:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
            label += ", log scale"
        figure.suptitle(label, x=0.01, ha="left")
    else:
        figure.suptitle({"loss_d": "Loss of D", "loss_g": "Loss of G"}[key], x=0.01, ha="left")
    add_legend(figure, most_columns=4 if len(bands) == 3 else 3)
    return figure


def add_legend(figure: Figure, most_columns: int) -> None:
    """A legend below the axes, in as many columns as fit into the figure's width, whatever the names are."""
    for columns in range(most_columns, 0, -1):
        legend = figure.legend(loc="outside lower center", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _final(comparison: Comparison, metric: MetricName, dark: bool) -> Figure:
    """Each seed a dot, the mean a bar across them."""
    names = comparison.experiments
    figure = Figure(figsize=(4.6, 1.1 + 0.45 * len(names)), layout="constrained")
    axes = figure.add_subplot()
    for row, name in enumerate(names):
        colour, _ = _look(comparison, name, dark)
        runs = comparison.results[name]
        values = [runs[s].scores[metric.key] for s in comparison.ok_seeds(name) if metric.key in runs[s].scores]
        axes.scatter(values, [row] * len(values), color=colour, s=30, alpha=0.75, linewidth=0, zorder=3)
        if values:
            mean = float(np.mean(values))
            axes.plot([mean, mean], [row - 0.3, row + 0.3], color=colour, linewidth=2.4, zorder=4)
        else:
            axes.text(0.5, row, "no run ended well", transform=axes.get_yaxis_transform(), ha="center", va="center")
    floor = comparison.floor_of(metric)
    if floor is not None:
        axes.axvline(floor[1], color=INK[dark], linestyle=(0, (5, 3)), linewidth=1.2)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel(f"{'lower' if metric.lower_is_better else 'higher'} is better")
    figure.suptitle(metric.label, x=0.01, ha="left")
    return figure


def _samples(comparison: Comparison) -> Figure | None:
    """Last grids at one seed side by side, one column an experiment."""
    seed = next(
        (
            seed
            for seed in comparison.seeds
            if all(runs[seed].samples is not None for runs in comparison.results.values())
        ),
        None,
    )
    if seed is None:
        return None
    names = comparison.experiments
    figure = Figure(figsize=(3.2 * len(names), 3.5), layout="constrained")
    for column, name in enumerate(names):
        axes = figure.add_subplot(1, len(names), column + 1)
        path = comparison.results[name][seed].samples
        assert path is not None  # chosen so above
        with Image.open(path) as picture:
            axes.imshow(np.asarray(picture.convert("RGB")), interpolation="nearest")
        axes.set_axis_off()
        axes.set_title(f"{name}, seed {seed}")
    return figure


def _look(comparison: Comparison, name: str, dark: bool) -> tuple[str, str]:
    """Colour and line style: the baseline first, the others in order."""
    place = (comparison.baseline, *comparison.others).index(name)
    colours = COLOURS[dark]
    return colours[place % len(colours)], _LINES[place // len(colours) % len(_LINES)]


def _marker(curve: Band) -> dict[str, Any]:
    return {"marker": "o", "markersize": 4} if len(curve.x) <= 20 else {}
