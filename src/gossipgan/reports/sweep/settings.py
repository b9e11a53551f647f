"""Plots of what the score depends on: importances, k x alpha, and a slice for every searched setting."""

import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.colors import LogNorm, Normalize

from gossipgan.reports.look import COLOURS, GROUND
from gossipgan.reports.plots import add_legend
from gossipgan.reports.sweep.drawing import (
    Sketch,
    dots,
    draw_baselines,
    metric_label,
    new_figure,
    outcome_look,
    ring,
    show_metric,
    show_setting,
)
from gossipgan.reports.sweep.importance import Importances
from gossipgan.reports.sweep.record import Axis, Entry, Record, show_value
from gossipgan.reports.sweep.scale import Scale

#: Fewer trials than this do not fill a heat map's cells.
_FEWEST_FOR_CELLS = 16


def draw_importances(rated: Importances, metric: str, dark: bool) -> Sketch:
    """A bar for each setting, its name above it."""
    names = list(rated.shares)
    title = f"Importance, with {rated.when}" if rated.when else "Importance for the score"
    figure = new_figure(_folded(title, 46), height=1.0 + 0.52 * max(len(names), 2))
    axes = figure.add_subplot()
    sketch = Sketch(figure, "importance of each setting: " + ", ".join(f"{n} {s:.2f}" for n, s in rated.shares.items()))
    for row, (name, share) in enumerate(rated.shares.items()):
        axes.barh(row, share, height=0.34, color=COLOURS[dark][1], zorder=3)
        axes.text(0, row - 0.24, _folded(name, 62), ha="left", va="bottom", fontsize=9)
        axes.text(share + 0.012, row, f"{share:.2f}", ha="left", va="center", fontsize=9)
    axes.set_xlim(0, 1.1)
    axes.set_ylim(len(names) - 0.6, -0.8)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
    log = "log of " if rated.log else ""
    axes.set_xlabel(f"share of the variance of {log}{metric_label(metric)}", fontsize=9.5)
    return sketch


class Cells(NamedTuple):
    """Middle scores of a heat map's cells.

    Attributes:
        x, y: edges of the cells.
        middle: shape (rows, columns); NaN of an empty cell.
    """

    x: np.ndarray
    y: np.ndarray
    middle: np.ndarray


def cells(xs: Sequence[float], ys: Sequence[float], scores: Sequence[float], across: Axis, up: Axis) -> Cells:
    """Medians of the scores in cells of the searched range, about four trials to a cell."""
    count = max(2, min(6, round(math.sqrt(len(scores) / 4))))
    x, y = (
        np.geomspace(axis.low, axis.high, count + 1) if axis.log else np.linspace(axis.low, axis.high, count + 1)
        for axis in (across, up)
    )
    column, row = (
        np.clip(np.searchsorted(edges, values, side="right") - 1, 0, count - 1) for edges, values in ((x, xs), (y, ys))
    )
    middle = np.full((count, count), np.nan)
    for i in range(count):
        for j in range(count):
            inside = np.asarray(scores)[(row == i) & (column == j)]
            if len(inside):
                middle[i, j] = np.median(inside)
    return Cells(x, y, middle)


def draw_map(record: Record, scale: Scale, across: Axis, up: Axis, dark: bool) -> Sketch:
    """Two settings that are numbers: every trial a dot coloured by its score, over cells of their medians."""
    figure = new_figure(f"{across.setting} and {up.setting}")
    axes = figure.add_subplot()
    sketch = Sketch(figure, f"{metric_label(record.view.metric)} by {across.setting} and {up.setting}")
    having = [one for one in record.entries if across.name in one.params and up.name in one.params]
    show_setting(axes, across)
    show_setting(axes, up, side="y")
    norm = (LogNorm if scale.log else Normalize)(scale.least, scale.most)
    # The better, the more it stands out from the ground.
    colours = "viridis" if scale.minimize != dark else "viridis_r"
    well = [one for one in having if one.ok]
    if len(well) >= _FEWEST_FOR_CELLS and across.low < across.high and up.low < up.high:
        found = cells(
            [one.params[across.name] for one in well],
            [one.params[up.name] for one in well],
            [scale.place(one.score) for one in well],
            across,
            up,
        )
        middle = np.ma.masked_invalid(found.middle)
        axes.pcolormesh(found.x, found.y, middle, cmap=colours, norm=norm, alpha=0.32, edgecolor="none", zorder=0)
    for one in having:
        x, y = float(one.params[across.name]), float(one.params[up.name])
        sketch.mark(axes, one.name, x, y)
    for state in ("pruned", "diverged"):
        chosen = [one for one in having if one.trial.state == state]
        if chosen:
            axes.scatter(
                [one.params[across.name] for one in chosen],
                [one.params[up.name] for one in chosen],
                label=state,
                zorder=2,
                **outcome_look(state, dark),
            )
    if well:
        drawn = axes.scatter(
            [one.params[across.name] for one in well],
            [one.params[up.name] for one in well],
            c=[scale.place(one.score) for one in well],
            cmap=colours,
            norm=norm,
            s=48,
            edgecolor=GROUND[dark],
            linewidth=0.9,
            zorder=4,
        )
        bar = figure.colorbar(drawn, ax=axes, extend="max" if scale.minimize else "min", pad=0.02)
        bar.outline.set_visible(False)
    best = record.best
    if best is not None and best in having:
        ring(axes, float(best.params[across.name]), float(best.params[up.name]), dark, label="best")
    axes.set_xlabel(across.name + (", log scale" if across.log else ""))
    axes.set_ylabel(up.name + (", log scale" if up.log else ""))
    axes.set_title(f"colour: {metric_label(record.view.metric)}", loc="left", fontsize=9.5)
    add_legend(figure, most_columns=3)
    return sketch


def draw_slice(record: Record, scale: Scale, axis: Axis, dark: bool) -> Sketch:
    """One setting against the score."""
    having = [one for one in record.entries if axis.name in one.params and one.trial.state != "waiting"]
    return _strips(record, scale, axis, having, dark) if axis.choices else _slice(record, scale, axis, having, dark)


def _slice(record: Record, scale: Scale, axis: Axis, having: list[Entry], dark: bool) -> Sketch:
    figure = new_figure(_folded(axis.name, 44), width=4.4, height=3.0)
    axes = figure.add_subplot()
    sketch = Sketch(figure, f"{metric_label(record.view.metric)} by {axis.name}")
    show_metric(axes, record.view.metric, scale)
    show_setting(axes, axis)
    draw_baselines(axes, record, scale, dark)
    points = [(one, float(one.params[axis.name]), scale.place(one.trial.score)) for one in having]
    dots(sketch, axes, points, record, scale, dark)
    notes = ["log scale"] if axis.log else []
    axes.set_xlabel("; ".join([*notes, f"with {axis.when}"] if axis.when else notes), fontsize=9.5)
    return sketch


def _strips(record: Record, scale: Scale, axis: Axis, having: list[Entry], dark: bool) -> Sketch:
    """Choices in rows; a bar at the median of those that ended well."""
    choices = axis.choices or ()
    figure = new_figure(_folded(axis.name, 44), width=4.4, height=max(1.9, 1.2 + 0.42 * len(choices)))
    axes = figure.add_subplot()
    sketch = Sketch(figure, f"{metric_label(record.view.metric)} by {axis.name}")
    show_metric(axes, record.view.metric, scale, side="x")
    draw_baselines(axes, record, scale, dark, side="x")
    points = []
    for row, choice in enumerate(choices):
        chosen = [one for one in having if one.params[axis.name] == choice]
        points += [(one, scale.place(one.trial.score), row + _jitter(one.trial.number)) for one in chosen]
        well = [scale.place(one.score) for one in chosen if one.ok]
        if well:
            middle = float(np.median(well))
            axes.plot([middle, middle], [row - 0.36, row + 0.36], color=COLOURS[dark][1], linewidth=2.6, zorder=2.5)
    dots(sketch, axes, points, record, scale, dark)
    axes.set_yticks(range(len(choices)), [show_value(choice) for choice in choices])
    axes.set_ylim(len(choices) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    if axis.when:
        axes.set_title(f"with {axis.when}", loc="left", fontsize=9.5)
    return sketch


def _jitter(number: int) -> float:
    """Keeps dots of one row apart: the golden ratio's multiples lie evenly."""
    return ((number * 0.6180339887) % 1 - 0.5) * 0.5


def _folded(name: str, most: int) -> str:
    """A title in lines that fit; a ratio breaks at its stroke."""
    if len(name) <= most:
        return name
    return name.replace(" / ", "\n/ ") if " / " in name else textwrap.fill(name, most)
