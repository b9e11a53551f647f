"""A picture of one outcome: distance against passes, on a log scale."""

import io

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from gossipgan.games.bilinear.lab import Outcome

_DPI = 160
#: After Okabe and Ito; colour-blind people tell them apart.
_JOINT, _SUM, _CONSENSUS, _PREDICTED = "#0072b2", "#d55e00", "#009e73", "#5b6470"


def png(outcome: Outcome) -> bytes:
    """The median over the seeds, its range as a band, and the predicted contraction where there is one."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.size": 10.5, "axes.spines.top": False, "axes.spines.right": False})
        file = io.BytesIO()
        _figure(outcome).savefig(file, format="png", dpi=_DPI, metadata={"Software": None})
    return file.getvalue()


def _figure(outcome: Outcome) -> Figure:
    passes = np.array(outcome.passes)
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    lowest, highest = np.inf, 0.0
    lines = [
        (r"$\|x-x^*\| + \|y-y^*\|$", outcome.trajectory.sum_of_norms, _SUM, "--"),
        (r"$\sqrt{\|x-x^*\|^2 + \|y-y^*\|^2}$", outcome.trajectory.distance, _JOINT, "-"),
    ]
    if outcome.trajectory.consensus is not None:
        lines.append(("learners from their average", outcome.trajectory.consensus, _CONSENSUS, "-."))
    for label, distances, colour, line in lines:
        # A log scale has no place for what overflowed, nor for a solution that is hit exactly.
        shown = np.where(np.isfinite(distances) & (distances > 0), distances, np.nan)
        drawn = ~np.isnan(shown).any(axis=1)
        if not drawn.any():
            continue
        if outcome.setup.seeds > 1:
            axes.fill_between(
                passes[drawn], shown[drawn].min(axis=1), shown[drawn].max(axis=1), color=colour, alpha=0.18, linewidth=0
            )
        axes.plot(passes[drawn], np.median(shown[drawn], axis=1), color=colour, linestyle=line, label=label)
        lowest, highest = min(lowest, float(np.nanmin(shown))), max(highest, float(np.nanmax(shown)))
    if outcome.predicted is not None:
        cycles = outcome.trajectory.iterations / outcome.cycle
        with np.errstate(over="ignore", under="ignore"):
            line_of_rate = np.median(outcome.trajectory.distance[0]) * outcome.predicted**cycles
        inside = (line_of_rate >= lowest) & (line_of_rate <= highest)
        axes.plot(
            passes[inside], line_of_rate[inside], color=_PREDICTED, linestyle=":", linewidth=2.2, label="predicted rate"
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=9))
    axes.yaxis.set_minor_formatter(NullFormatter())
    if highest / lowest < 100:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlim(left=0)
    axes.set_xlabel("passes over the samples")
    axes.set_ylabel("distance to the solution, log scale")
    axes.grid(visible=True, color="#d9dde3")
    axes.set_axisbelow(True)
    setup = outcome.setup
    batch = "full batch" if setup.batch_size == setup.dim else f"batch {setup.batch_size}"
    seeds = "1 seed" if setup.seeds == 1 else f"median and range of {setup.seeds} seeds"
    figure.suptitle(f"{_method(outcome)}\nbilinear game, d = {setup.dim}, {batch}; {seeds}", x=0.01, ha="left")
    figure.legend(loc="outside lower center", ncols=3 if len(lines) == 2 else 2, frameon=False)
    return figure


def _method(outcome: Outcome) -> str:
    setup, lookahead = outcome.setup, outcome.setup.lookahead
    words = [f"{setup.method}: eta {setup.eta:g}"]
    if outcome.trajectory.consensus is not None:
        words.append(setup.mixing_in_words)
    if lookahead is not None:
        words.append(f"k {lookahead.k}, alpha {lookahead.alpha:g}")
        if lookahead.super_k is not None:
            words.append(f"super-k {lookahead.super_k}, super-alpha {lookahead.super_alpha:g}")
    return ", ".join(words)
