"""Pictures of topologies, as PNG: learners are dots, and links the lines between them.

Static graphs have one panel, others a panel a round. The bytes depend on the schedule and on matplotlib's and
networkx's versions alone.
"""

import io
import math

import matplotlib
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from gossipgan.mixing.schedule import Schedule
from gossipgan.mixing.summary import Summary
from gossipgan.mixing.topologies import TOPOLOGIES, Layout, square_factors

_DPI = 160
_INK, _LINK, _DOT = "#1c2128", "#5b6470", "#0072b2"

#: Rounds that are drawn of random matchings, and at most of a period.
_MATCHINGS, _ROUNDS = 4, 6

#: Side of a panel in inches: of one alone, and of several.
_ALONE, _BESIDE = 6.0, 3.8

#: Dots of fewer points across don't hold a number that can be read.
_NUMBERED = 12.0

#: Links that are drawn with arrowheads at most, where they go one way.
_ARROWS = 200

#: Learners that springs arrange at most; more would take minutes.
_SPRINGS = 1000

#: Numbers outside a circle at most.
_OUTSIDE = 24

#: Where each binary digit moves a corner of a hypercube, so that no two edges lie on one another.
_DIGITS = np.array([[1.0, 0.0], [0.0, 1.0], [0.42, 0.34], [2.0, 0.72]])

Points = NDArray[np.float64]
Edges = list[tuple[int, int]]


def png(summary: Summary) -> bytes:
    """The picture of a schedule's links; learners' numbers are left out where they don't fit."""
    schedule = summary.schedule
    rounds = _MATCHINGS if schedule.period is None else schedule.period
    drawn = min(rounds, _ROUNDS)
    lines = math.ceil(drawn / 3)
    columns = math.ceil(drawn / lines)
    side = _ALONE if drawn == 1 else _BESIDE
    layout = TOPOLOGIES[schedule.topology].layout
    points = _points(schedule, layout)
    frame = _frame(points)
    # Flat pictures are drawn on flat sheets.
    flatness = min(1.0, float(np.ptp(frame[:, 1]) / np.ptp(frame[:, 0])))
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.family": "DejaVu Sans", "text.color": _INK})
        figure = Figure(figsize=(side * columns, side * flatness * lines + 0.8), layout="constrained")
        # Of a long period, from its first round to its last.
        for panel, number in enumerate(np.linspace(0, rounds - 1, drawn).round().astype(int).tolist()):
            axes = figure.add_subplot(lines, columns, panel + 1)
            _draw(axes, schedule, number, points, layout, side)
            axes.set(xlim=frame[:, 0], ylim=frame[:, 1], aspect="equal")
            axes.set_axis_off()
            if rounds > 1:
                axes.set_title(f"round {number}", fontsize=10)
        figure.suptitle(_title(schedule, drawn), fontsize=12, fontweight="bold")
        figure.supxlabel(f"{schedule.weights} weights, rho {summary.rho_in_words} a round", fontsize=10)
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    return file.getvalue()


def _title(schedule: Schedule, drawn: int) -> str:
    name = f"{schedule.topology}, {schedule.learners:,} learner{'s' if schedule.learners > 1 else ''}"
    if schedule.period is None:
        return f"{name}: the first {drawn} rounds"
    return f"{name}: {drawn} of {schedule.period} rounds" if schedule.period > drawn else name


def _draw(axes: Axes, schedule: Schedule, number: int, points: Points, layout: Layout, side: float) -> None:
    links = schedule.matrix(number).tocoo()
    one_way = {(int(j), int(i)) for i, j in zip(*links.coords, strict=True) if i != j}
    edges = sorted({(min(link), max(link)) for link in one_way})
    width = float(np.ptp(_frame(points), axis=0).max())
    # In points of the sheet: from a learner to the next, and across a learner's dot, smaller where it has no number.
    distance = 72 * side * 0.9 * _least_distance(points) / width
    numbered = 0.65 * distance >= _NUMBERED
    diameter = float(np.clip((0.65 if numbered else 0.45) * distance, 2.0, 24.0))
    if len(one_way) <= _ARROWS and any((j, i) not in one_way for i, j in one_way):
        for sender, receiver in sorted(one_way):
            _arrow(axes, points[sender], points[receiver], diameter)
    else:
        segments = _segments(points, edges, layout)
        # The more of the picture lines would cover, the fainter they are.
        length = sum(float(np.linalg.norm(segment[1] - segment[0])) for segment in segments) / width
        strength = float(np.clip((30 / (length + 1e-9)) ** 0.5, 0.1, 1.0))
        widths = max(min(1.5, 0.3 * diameter) * strength, 0.4)
        axes.add_collection(LineCollection(segments, linewidths=widths, colors=_LINK, alpha=strength, zorder=1))
    axes.scatter(points[:, 0], points[:, 1], s=diameter**2, color=_DOT, linewidths=0, zorder=2)
    if numbered:
        for learner, (x, y) in enumerate(points):
            size = min(9.0, 0.5 * diameter)
            axes.text(x, y, str(learner), fontsize=size, ha="center", va="center_baseline", color="white", zorder=3)
    elif layout == "circle":
        _number_outside(axes, points)


def _arrow(axes: Axes, start: Points, end: Points, diameter: float) -> None:
    axes.add_patch(
        FancyArrowPatch(
            (float(start[0]), float(start[1])),
            (float(end[0]), float(end[1])),
            arrowstyle="-|>",
            mutation_scale=max(4.0, 0.45 * diameter),
            shrinkA=diameter / 2,
            shrinkB=diameter / 2,
            # Bent, so that two arrows between the same learners lie apart.
            connectionstyle="arc3,rad=0.08",
            color=_LINK,
            linewidth=1.0,
            zorder=1,
        )
    )


def _number_outside(axes: Axes, points: Points) -> None:
    """Round numbers beside a circle's learners, no more than have room."""
    steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    step = next(step for step in steps if len(points) / step <= _OUTSIDE)
    for learner in range(0, len(points), step):
        # The last may come too near to the first.
        if learner == 0 or len(points) - learner >= step:
            x, y = 1.09 * points[learner]
            axes.text(x, y, f"{learner:,}", fontsize=8, ha="center", va="center")


def _segments(points: Points, edges: Edges, layout: Layout) -> list[Points]:
    """A line a link; the links that close a torus are two stubs, at both ends of a row or column."""
    segments = []
    for i, j in edges:
        step = points[j] - points[i]
        if layout == "lattice" and np.abs(step).max() > 1:
            stub = 0.4 * np.sign(step)
            segments += [np.array([points[i], points[i] - stub]), np.array([points[j], points[j] + stub])]
        else:
            segments.append(np.array([points[i], points[j]]))
    return segments


def _frame(points: Points) -> Points:
    """Least and greatest x and y of a panel: rows of (x, y), with a margin, and never too flat for a dot."""
    least, most = points.min(axis=0), points.max(axis=0)
    size = max(float((most - least).max()), 1.0)
    half = np.maximum(most - least, 0.15 * size) / 2 + 0.08 * size
    return np.array([(least + most) / 2 - half, (least + most) / 2 + half])


def _least_distance(points: Points) -> float:
    """Between two learners."""
    if len(points) < 2:
        return 1.0
    distances, _ = cKDTree(points).query(points, k=2)
    # Springs may put a few learners of many on top of one another.
    return float(distances[:, 1].min() if len(points) <= 100 else np.quantile(distances[:, 1], 0.1))


def _points(schedule: Schedule, layout: Layout) -> Points:
    """Where the learners are, shape (learners, 2)."""
    n = schedule.learners
    if layout == "cube" and n <= 1 << len(_DIGITS):
        digits = np.array([[i >> b & 1 for b in range(len(_DIGITS))] for i in range(n)])
        return np.asarray(digits @ _DIGITS)
    if layout == "spring" and n <= _SPRINGS:
        return _sprung(schedule)
    if layout == "lattice":
        rows, columns = square_factors(n)
        return np.array([(i % columns, rows - 1 - i // columns) for i in range(n)], dtype=float)
    if layout == "line":
        return _folded(n)
    if layout == "star":
        return np.concatenate([np.zeros((1, 2)), _circle(np.arange(n - 1), n - 1)])
    places = np.arange(n)
    if layout == "cube":
        # Round a circle in the order of a Gray code, so that who follow one another are neighbours.
        places[places ^ (places >> 1)] = np.arange(n)
    return _circle(places, n)


def _circle(places: NDArray[np.int64], around: int) -> Points:
    """Clockwise from the top."""
    angles = 2 * np.pi * places / max(around, 1)
    return np.column_stack([np.sin(angles), np.cos(angles)])


def _folded(learners: int) -> Points:
    """A line, to and fro in rows where it is long."""
    columns = learners if learners <= 12 else math.ceil(math.sqrt(2 * learners))
    row, place = np.divmod(np.arange(learners), columns)
    return np.column_stack([np.where(row % 2, columns - 1 - place, place), -row]).astype(float)


def _sprung(schedule: Schedule) -> Points:
    """By networkx: Kamada and Kawai's springs, or for many learners Fruchterman and Reingold's, from a fixed start."""
    links = schedule.matrix(0)
    graph = nx.from_scipy_sparse_array(links + links.T)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    if schedule.learners <= 100:
        found = nx.kamada_kawai_layout(graph, weight=None)
    else:
        found = nx.spring_layout(graph, weight=None, seed=0, iterations=20)
    return np.array([found[learner] for learner in range(schedule.learners)])
