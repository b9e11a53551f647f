"""Plots of one objective against another, or of the score against the bytes that were sent for it."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gossipgan.reports.look import COLOURS, GROUND, INK
from gossipgan.reports.plots import add_legend
from gossipgan.reports.sweep.drawing import Sketch, metric_label, new_figure, ring, show_metric
from gossipgan.reports.sweep.record import Entry, Record
from gossipgan.reports.sweep.scale import Scale


class Trade(NamedTuple):
    """Two numbers of every trial that ended well.

    Attributes:
        x, y: what they are: names of metrics.
        points: by trial's name.
        front: names of those that no other matches in both and betters in one, along x.
        beside: the baselines, by name.
    """

    x: str
    y: str
    minimize_x: bool
    minimize_y: bool
    points: dict[str, tuple[float, float]]
    front: tuple[str, ...]
    beside: dict[str, tuple[float, float]]


def trades(record: Record) -> list[Trade]:
    """The first objective against each other one; of one objective, against the bytes, where any were sent."""
    objectives = record.view.objectives
    first = objectives[0]
    found = []
    for place, other in enumerate(objectives[1:], start=1):

        def pair(entry: Entry, place: int = place) -> tuple[float, float] | None:
            values = entry.trial.values
            return None if values is None else (values[place], values[0])

        found.append(_trade(record, other.metric, first.metric, other.minimize, first.minimize, pair))
    if len(objectives) == 1 and len({one.trial.bytes for one in record.ended_well if one.trial.bytes}) > 1:

        def sent(entry: Entry) -> tuple[float, float] | None:
            return None if entry.trial.bytes is None else (entry.trial.bytes, entry.score)

        found.append(_trade(record, "bytes", first.metric, True, first.minimize, sent))
    return [trade for trade in found if trade.points]


def _trade(
    record: Record,
    x: str,
    y: str,
    minimize_x: bool,
    minimize_y: bool,
    pair: Callable[[Entry], tuple[float, float] | None],
) -> Trade:
    def pairs(entries: Sequence[Entry]) -> dict[str, tuple[float, float]]:
        found = {entry.name: pair(entry) for entry in entries if entry.ok}
        return {name: one for name, one in found.items() if one is not None and all(map(math.isfinite, one))}

    points = pairs(record.entries)
    names = list(points)
    front = nondominated(list(points.values()), minimize=(minimize_x, minimize_y))
    return Trade(x, y, minimize_x, minimize_y, points, tuple(names[place] for place in front), pairs(record.baselines))


def nondominated(points: Sequence[tuple[float, float]], *, minimize: tuple[bool, bool]) -> list[int]:
    """Places of the points that no other matches in both and betters in one; of equal ones the first.

    They are sorted by the first number, the better first.
    """
    signs = tuple(1.0 if less else -1.0 for less in minimize)
    costs = [(signs[0] * x, signs[1] * y) for x, y in points]
    front: list[int] = []
    for place in sorted(range(len(costs)), key=lambda place: (costs[place], place)):
        # In this order a point is dominated exactly if one before it is no worse in the second number.
        if not front or costs[place][1] < costs[front[-1]][1]:
            front.append(place)
    return front


def draw_trade(record: Record, trade: Trade, dark: bool) -> Sketch:
    """Every trial that ended well, and the front as steps."""
    figure = new_figure(_title(record, trade))
    axes = figure.add_subplot()
    sketch = Sketch(figure, f"{metric_label(trade.y)} against {metric_label(trade.x)}")
    xs, ys = (
        Scale.of(
            [point[side] for point in trade.points.values()],
            minimize=less,
            keep=[point[side] for point in [*trade.beside.values(), *(trade.points[name] for name in trade.front)]],
        )
        for side, less in ((0, trade.minimize_x), (1, trade.minimize_y))
    )
    show_metric(axes, trade.x, xs, side="x")
    show_metric(axes, trade.y, ys)
    colour = COLOURS[dark][1]
    front = [trade.points[name] for name in trade.front]
    # From one to the next, what can be had at its cost is what the one before gives.
    axes.step(*zip(*front, strict=True), where="post", color=COLOURS[dark][2], linewidth=1.8, label="front", zorder=2)
    for on_front, label in ((False, "ok"), (True, "on the front")):
        chosen = [(name, point) for name, point in trade.points.items() if (name in trade.front) == on_front]
        if not chosen:
            continue
        axes.scatter(
            [xs.place(x) for _, (x, _) in chosen],
            [ys.place(y) for _, (_, y) in chosen],
            color=COLOURS[dark][2] if on_front else colour,
            s=46 if on_front else 30,
            alpha=1.0 if on_front else 0.7,
            edgecolor=GROUND[dark],
            linewidth=0.7,
            label=label,
            zorder=4 if on_front else 3,
            clip_on=False,
        )
    for name, (x, y) in trade.points.items():
        sketch.mark(axes, name, xs.place(x), ys.place(y))
    for name, (x, y) in trade.beside.items():
        axes.scatter(
            [x], [y], marker="D", s=46, color=INK[dark], label=name.removeprefix("baseline-"), zorder=5, clip_on=False
        )
        sketch.mark(axes, name, x, y)
    best = record.best
    if best is not None and best.name in trade.points:
        x, y = trade.points[best.name]
        ring(axes, xs.place(x), ys.place(y), dark, label="best score")
    add_legend(figure, most_columns=4)
    return sketch


def _title(record: Record, trade: Trade) -> str:
    return "Pareto front" if len(record.view.objectives) > 1 else "Score against bytes sent"
