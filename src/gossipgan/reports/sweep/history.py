"""Plots of a sweep as it went: best so far, and the trials' curves."""

import math

from matplotlib.ticker import FuncFormatter, MaxNLocator

from gossipgan.reports.look import COLOURS, INK, thousands
from gossipgan.reports.plots import add_legend
from gossipgan.reports.sweep.drawing import Sketch, dots, draw_baselines, metric_label, new_figure, show_metric
from gossipgan.reports.sweep.record import Record
from gossipgan.reports.sweep.scale import Scale


def best_so_far(record: Record) -> list[tuple[int, float]]:
    """Trial by trial the best score that any trial up to it has ended well with; from the first that has."""
    best: float | None = None
    steps = []
    for entry in record.entries:
        if entry.ok and (best is None or (entry.score < best if record.view.minimize else entry.score > best)):
            best = entry.score
        if best is not None:
            steps.append((entry.trial.number, best))
    return steps


def draw_best_so_far(record: Record, scale: Scale, dark: bool) -> Sketch:
    """Trials in order, the best so far a line of steps, the baselines dashed."""
    figure = new_figure("Best so far")
    axes = figure.add_subplot()
    sketch = Sketch(figure, f"{metric_label(record.view.metric)} of every trial, and the best so far")
    show_metric(axes, record.view.metric, scale)
    draw_baselines(axes, record, scale, dark)
    steps = best_so_far(record)
    if steps:
        numbers, scores = zip(*steps, strict=True)
        colour = COLOURS[dark][1]
        axes.step(numbers, scores, where="post", color=colour, linewidth=2.0, label="best so far", zorder=2)
    begun = [entry for entry in record.entries if entry.trial.state != "waiting"]
    points = [(entry, float(entry.trial.number), scale.place(entry.trial.score)) for entry in begun]
    dots(sketch, axes, points, record, scale, dark)
    last = max((entry.trial.number for entry in begun), default=1)
    axes.set_xlim(-0.03 * max(last, 1) - 0.2, 1.03 * max(last, 1) + 0.2)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlabel("trial")
    add_legend(figure, most_columns=4)
    return sketch


def draw_curves(record: Record, scale: Scale, dark: bool) -> Sketch:
    """Score by iteration of every trial's first seed: pruned ones pale, the best bold."""
    figure = new_figure("Curves of the trials")
    axes = figure.add_subplot()
    sketch = Sketch(figure, f"{metric_label(record.view.metric)} by iteration, of every trial")
    show_metric(axes, record.view.metric, scale)
    best, colours, named = record.best, COLOURS[dark], set()
    for entry in (*record.entries, *record.baselines):
        points = sorted((step, score) for step, score in entry.curve.items() if math.isfinite(score))
        if not points:
            continue
        steps = [step for step, _ in points]
        scores = [scale.place(score) for _, score in points]
        look: dict[str, object]
        if entry in record.baselines:
            label = "baseline"
            look = {"color": INK[dark], "linestyle": (0, (5, 3)), "linewidth": 1.6, "zorder": 4}
        elif best is not None and entry.name == best.name:
            label = "best"
            look = {"color": colours[1], "linewidth": 2.6, "zorder": 5, "marker": "o", "markersize": 4}
        elif entry.ok:
            label = "ok"
            look = {"color": colours[1], "linewidth": 1.1, "alpha": 0.5, "zorder": 3}
        elif entry.trial.state == "diverged":
            label = "diverged"
            look = {"color": colours[2], "linewidth": 1.1, "alpha": 0.8, "zorder": 2.5}
        else:
            label = "pruned" if entry.trial.state == "pruned" else "others"
            look = {"color": colours[0], "linewidth": 0.9, "alpha": 0.4 if label == "pruned" else 0.7, "zorder": 2}
            if len(points) == 1:
                look |= {"marker": "o", "markersize": 2.5}
        axes.plot(steps, scores, label=None if label in named else label, **look)  # type: ignore[arg-type]
        named.add(label)
        sketch.mark(axes, entry.name, steps[-1], scores[-1])
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.set_xlabel("iterations")
    add_legend(figure, most_columns=4)
    return sketch
