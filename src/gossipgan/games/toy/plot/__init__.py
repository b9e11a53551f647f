"""A picture of one outcome: distances, and for a game in the plane also where the players went."""

import io
import textwrap

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from gossipgan.games.toy.lab import Outcome
from gossipgan.games.toy.plot import distances, plane

_DPI = 160
#: Of the title, about.
_LETTERS_AN_INCH = 10


def png(outcome: Outcome) -> bytes:
    """The picture, the same bytes for the same outcome."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.size": 10.5, "axes.spines.top": False, "axes.spines.right": False})
        file = io.BytesIO()
        _figure(outcome).savefig(file, format="png", dpi=_DPI, metadata={"Software": None})
    return file.getvalue()


def _figure(outcome: Outcome) -> Figure:
    title = [_method(outcome), outcome.setup.in_words, _seeds(outcome)]
    if outcome.trajectory.path is None:
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        distances.draw(figure, outcome)
    else:
        figure = Figure(figsize=(11.2, 5.4), layout="constrained")
        halves = np.asarray(figure.subfigures(1, 2, width_ratios=[1, 1.2]))
        plane.draw(halves[0], outcome)
        distances.draw(halves[1], outcome)
    width = round(_LETTERS_AN_INCH * figure.get_figwidth())
    figure.suptitle("\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in title), x=0.01, ha="left")
    return figure


def _method(outcome: Outcome) -> str:
    setup, lookahead = outcome.setup, outcome.setup.lookahead
    words = [f"{setup.method}: eta {setup.eta:g}"]
    if lookahead is not None:
        words.append(f"k {lookahead.k}, alpha {lookahead.alpha:g}")
        if lookahead.super_k is not None:
            words.append(f"super-k {lookahead.super_k}, super-alpha {lookahead.super_alpha:g}")
    return ", ".join(words)


def _seeds(outcome: Outcome) -> str:
    seeds = outcome.setup.seeds
    return "1 seed" if seeds == 1 else f"{distances.statistic(outcome)} and range of {seeds} seeds"
