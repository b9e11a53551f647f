"""Distances against passes, on a log scale, and what theory says of them."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import LogLocator, NullFormatter

from gossipgan.games.toy.game import Array
from gossipgan.games.toy.lab import Outcome

#: After Okabe and Ito; colour-blind people tell them apart.
_JOINT, _SUM, _CONSENSUS, _PREDICTED = "#0072b2", "#d55e00", "#009e73", "#5b6470"

#: Levels that theory gives: comparison, from its value to a distance, label.
_LEVELS = (
    ("second_moment", np.sqrt, "exact in the long run"),
    ("late_distance", np.asarray, "limit cycle of the flow"),
)


def draw(figure: FigureBase, outcome: Outcome) -> None:
    """One line a kind of distance: the statistic over the seeds, with their range as a band."""
    axes = figure.add_subplot()
    passes = np.array(outcome.passes)
    trajectory = outcome.trajectory
    kinds = [
        (r"$\|x-x^*\| + \|y-y^*\|$", trajectory.sum_of_norms, _SUM, "--"),
        (r"$\sqrt{\|x-x^*\|^2 + \|y-y^*\|^2}$", trajectory.distance, _JOINT, "-"),
    ]
    if trajectory.consensus is not None:
        kinds.append(("learners from their average", trajectory.consensus, _CONSENSUS, "-."))
    lowest, highest = np.inf, 0.0
    for label, values, colour, line in kinds:
        # A log scale has no place for what overflowed, nor for a solution that is hit exactly.
        shown = np.where(np.isfinite(values) & (values > 0), values, np.nan)
        drawn = ~np.isnan(shown).any(axis=1)
        if not drawn.any():
            continue
        if outcome.setup.seeds > 1:
            band = shown[drawn].min(axis=1), shown[drawn].max(axis=1)
            axes.fill_between(passes[drawn], *band, color=colour, alpha=0.18, linewidth=0)
        axes.plot(passes[drawn], _over_seeds(outcome, shown[drawn]), color=colour, linestyle=line, label=label)
        lowest, highest = min(lowest, float(np.nanmin(shown))), max(highest, float(np.nanmax(shown)))
    _draw_predicted(axes, outcome, passes, lowest, highest)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=9))
    axes.yaxis.set_minor_formatter(NullFormatter())
    if highest < 100 * lowest:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlim(left=0)
    axes.set_xlabel("passes")
    axes.set_ylabel("distance to the solution, log scale")
    axes.grid(visible=True, color="#d9dde3")
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)


def statistic(outcome: Outcome) -> str:
    """What the lines show of several seeds: theory speaks of second moments where there is noise."""
    return "root mean square" if _has_moment(outcome) else "median"


def _over_seeds(outcome: Outcome, distances: Array) -> Array:
    if _has_moment(outcome):
        with np.errstate(over="ignore"):
            return np.asarray(np.sqrt((distances**2).mean(axis=1)))
    return np.asarray(np.median(distances, axis=1))


def _has_moment(outcome: Outcome) -> bool:
    return any(one.key == "second_moment" for one in outcome.comparisons)


def _draw_predicted(axes: Axes, outcome: Outcome, passes: Array, lowest: float, highest: float) -> None:
    """The rate of a linear game from the first distance on; or a level in the long run."""
    style: dict[str, Any] = {"color": _PREDICTED, "linestyle": ":", "linewidth": 2.2}
    for one in outcome.comparisons:
        if one.key == "contraction" and one.predicted is not None and outcome.limit_cycle is None:
            cycles = outcome.trajectory.iterations / outcome.setup.cycle
            with np.errstate(over="ignore", under="ignore"):
                rate = np.median(outcome.trajectory.distance[0]) * one.predicted**cycles
            inside = (rate >= lowest) & (rate <= highest)
            axes.plot(passes[inside], rate[inside], label="predicted rate", **style)
        for key, to_distance, label in _LEVELS:
            if one.key == key and one.predicted is not None and np.isfinite(one.predicted):
                axes.axhline(float(to_distance(one.predicted)), label=label, **style)
