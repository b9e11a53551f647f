"""What all plots of a sweep share: looks of outcomes, axes of scores and settings, and where each trial's dot is."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.axis import Axis as Side
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator, ScalarFormatter

from gossipgan.reports.look import COLOURS, DPI, GROUND, INK, png, style, thousands
from gossipgan.reports.ruler import MetricName
from gossipgan.reports.sweep.record import Axis, Entry, Record
from gossipgan.reports.sweep.scale import Scale

#: States of trials that have not ended.
UNDER_WAY = ("running", "interrupted", "stopped", "waiting")

#: Place in the colours, marker and size of a state; others look like those that failed.
_LOOKS = {
    "ok": (1, "o", 34.0),
    "pruned": (0, "o", 17.0),
    "diverged": (2, "X", 38.0),
    "crashed": (4, "D", 26.0),
    "out-of-memory": (4, "s", 26.0),
    "timed-out": (4, "v", 32.0),
    **dict.fromkeys(UNDER_WAY, (3, "^", 32.0)),
}

#: Markers of trials that ended well, but worse than the axis reaches.
_BEYOND = {True: "^", False: "v"}


class Mark(NamedTuple):
    """A trial's dot, in the units of its axes."""

    trial: str
    x: float
    y: float


@dataclass
class Sketch:
    """A figure, and whose dots are where.

    Attributes:
        alt: what it shows, in words.
        marks: by the axes that they are on.
    """

    figure: Figure
    alt: str
    marks: list[tuple[Axes, Mark]] = field(default_factory=list)

    def mark(self, axes: Axes, trial: str, x: float, y: float) -> None:
        """Note a trial's dot."""
        self.marks.append((axes, Mark(trial, float(x), float(y))))


class Spot(NamedTuple):
    """Where a trial's dot is in a picture: hundredths of its width from the left, and of its height from the top."""

    trial: str
    left: float
    top: float


class Plot(NamedTuple):
    """A picture for both grounds.

    Attributes:
        name: of its file, without the ending.
        marks: every trial's dot, in the units of the axes.
        spots: the same in the picture.
    """

    name: str
    light: bytes
    dark: bytes
    alt: str
    marks: tuple[Mark, ...]
    spots: tuple[Spot, ...]


#: Draws a figure on a light or a dark ground.
Draw = Callable[[bool], Sketch]


def render(name: str, draw: Draw) -> Plot:
    """Draw twice."""
    pictures = {}
    for dark in (True, False):
        with style(dark=dark):
            sketch = draw(dark)
            pictures[dark] = png(sketch.figure)
    width, height = sketch.figure.bbox.size
    spots = []
    for axes, mark in sketch.marks:
        x, y = axes.transData.transform((mark.x, mark.y))
        spots.append(Spot(mark.trial, round(100 * x / width, 2), round(100 - 100 * y / height, 2)))
    marks = tuple(mark for _, mark in sketch.marks)
    return Plot(name, pictures[False], pictures[True], sketch.alt, marks, tuple(spots))


def new_figure(title: str, *, height: float = 3.5, width: float = 4.8) -> Figure:
    """An empty figure under a title."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def metric_label(metric: str) -> str:
    """A score's name as people read it."""
    parsed = MetricName.parse(metric)
    if parsed is not None:
        return parsed.label
    return "bytes sent" if metric == "bytes" else metric


def show_metric(axes: Axes, metric: str, scale: Scale, side: str = "y") -> None:
    """Let an axis show a score: its range, its ticks, and its whole name beside it."""
    line = axes.yaxis if side == "y" else axes.xaxis
    if scale.log:
        (axes.set_yscale if side == "y" else axes.set_xscale)("log")
    (axes.set_ylim if side == "y" else axes.set_xlim)(scale.low, scale.high)
    _ticks(line, scale.low, scale.high, log=scale.log, of_bytes=metric == "bytes")
    label = metric_label(metric) + (", log scale" if scale.log else "")
    if side == "y":
        axes.set_title(label, loc="left", fontsize=9.5)
    else:
        axes.set_xlabel(label, fontsize=9.5)


def show_setting(axes: Axes, axis: Axis, side: str = "x") -> None:
    """Let an axis show a setting that is a number, over all of what is searched."""
    low, high = axis.low, axis.high
    if low == high:
        low, high = (low / 2, high * 2) if axis.log else (low - 1, high + 1)
    set_scale, set_limits = (axes.set_xscale, axes.set_xlim) if side == "x" else (axes.set_yscale, axes.set_ylim)
    if axis.log:
        set_scale("log")
        room = (high / low) ** 0.05
        set_limits(low / room, high * room)
    else:
        room = 0.05 * (high - low)
        set_limits(low - room, high + room)
    _ticks(axes.xaxis if side == "x" else axes.yaxis, low, high, log=axis.log)


def _ticks(line: Side, low: float, high: float, *, log: bool, of_bytes: bool = False) -> None:
    """Few ticks, written out; on a logarithmic axis at 1, 2 and 5, where there is room."""
    line.set_minor_locator(NullLocator())
    line.set_minor_formatter(NullFormatter())
    if not log and not of_bytes and max(abs(low), abs(high)) < 1e4:
        line.set_major_formatter(ScalarFormatter(useOffset=False))  # as many decimals for all
    else:
        line.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(value) if of_bytes else plain(value)))
    if not log:
        line.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        return
    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 2.2 else (1.0, 3.0) if decades < 3.5 else (1.0,)
    inside = sum(
        low <= sub * 10.0**power <= high
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for sub in subs
    )
    line.set_major_locator(LogLocator(subs=subs) if inside >= 2 else MaxNLocator(4))


def plain(value: float) -> str:
    """A number on an axis: no more digits than it needs."""
    return thousands(value) if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def bytes_text(value: float) -> str:
    """Such as ``3.2 MB``."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} B"


def draw_baselines(axes: Axes, record: Record, scale: Scale, dark: bool, side: str = "y") -> None:
    """A dashed line at the score of each baseline."""
    for entry in record.baselines:
        if not entry.ok or scale.beyond(entry.score):
            continue
        line = axes.axhline if side == "y" else axes.axvline
        line(
            entry.score,
            color=INK[dark],
            linestyle=(0, (5, 3)),
            linewidth=1.2,
            label=entry.title,
            zorder=1.5,
        )


def dots(
    sketch: Sketch, axes: Axes, points: Sequence[tuple[Entry, float, float]], record: Record, scale: Scale, dark: bool
) -> None:
    """Every trial a dot, coloured by its outcome, and the best ringed.

    Args:
        points: trial, x and y, one of which is its score's place on the scale.
    """
    by_state: dict[str, list[tuple[Entry, float, float]]] = {}
    for point in points:
        by_state.setdefault(point[0].trial.state, []).append(point)
    for state in sorted(by_state, key=_order):
        for beyond in (False, True):
            chosen = [
                (x, y)
                for entry, x, y in by_state[state]
                if beyond == (state == "ok" and scale.beyond(entry.trial.score))
            ]
            if not chosen:
                continue
            look = outcome_look(state, dark)
            label = state
            if beyond:
                look |= {"marker": _BEYOND[scale.minimize], "s": 34.0}
                label = f"{state}, beyond the axis"
            axes.scatter(*zip(*chosen, strict=True), label=label, zorder=_order(state) + 3, clip_on=False, **look)
    best = record.best
    for entry, x, y in points:
        sketch.mark(axes, entry.name, x, y)
        if best is not None and entry.name == best.name:
            ring(axes, x, y, dark, label="best")


def ring(axes: Axes, x: float, y: float, dark: bool, label: str | None = None) -> None:
    """A ring around the best trial's dot."""
    axes.scatter(
        [x], [y], s=120, facecolor="none", edgecolor=INK[dark], linewidth=1.6, label=label, zorder=20, clip_on=False
    )


def outcome_look(state: str, dark: bool) -> dict[str, Any]:
    """Colour, marker and size of an outcome's dots; those that ended well have an edge, to be told apart."""
    place, marker, size = _LOOKS.get(state, _LOOKS["crashed"])
    colour = COLOURS[dark][place]
    if state == "pruned":
        return {"marker": marker, "s": size, "facecolor": "none", "edgecolor": colour, "linewidth": 1.0, "alpha": 0.75}
    return {"marker": marker, "s": size, "facecolor": colour, "edgecolor": GROUND[dark], "linewidth": 0.7}


def _order(state: str) -> int:
    """Those that ended well lie above the others."""
    known = list(_LOOKS)
    return len(known) - (known.index(state) if state in known else len(known))
