"""All plots of a sweep, by name, in the page's order."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from gossipgan.reports.sweep import confirmed, history, settings, trade
from gossipgan.reports.sweep.drawing import Draw, Plot, Sketch, render
from gossipgan.reports.sweep.importance import Importances, importances
from gossipgan.reports.sweep.record import Axis, Entry, Record
from gossipgan.reports.sweep.scale import Scale
from gossipgan.reports.sweep.trade import Trade, trades

#: The settings whose map is drawn, where both are searched.
_MAP = ("lookahead.k", "lookahead.alpha")


class Plots(NamedTuple):
    """Everything that is drawn of a sweep, and what was worked out for it.

    Attributes:
        confirmation, curves, map: None where there is nothing to draw.
        importances: by objective and set of trials, each with what it shows.
        slices: of all searched settings, in their order.
        trades: each with what it shows.
    """

    confirmation: Plot | None
    history: Plot | None
    importances: tuple[tuple[str, Importances, Plot], ...]
    map: Plot | None
    slices: tuple[tuple[Axis, Plot], ...]
    trades: tuple[tuple[Trade, Plot], ...]
    curves: Plot | None

    @property
    def all(self) -> tuple[Plot, ...]:
        """Those that there are."""
        several = [plot for _, _, plot in self.importances] + [plot for _, plot in self.slices]
        several += [plot for _, plot in self.trades]
        return tuple(one for one in (self.confirmation, self.history, self.map, self.curves, *several) if one)


def score_scale(record: Record, objective: int = 0) -> Scale:
    """For the scores of trials that ended well, and the baselines'."""
    well = _values(record.ended_well, objective)
    beside = _values([one for one in record.baselines if one.ok], objective)
    return Scale.of(well, minimize=record.view.objectives[objective].minimize, keep=beside)


def wide_scale(record: Record) -> Scale:
    """For all scores that stand in one plot: those of trials that were ended early are often worse.

    It reaches no farther than that those that ended well can still be told apart.
    """
    well, minimize = score_scale(record), record.view.minimize
    shown = [one.score for one in (*record.ended_well, *record.baselines) if one.ok and not well.beyond(one.score)]
    others = [one for one in record.entries if one.trial.score is not None and one.trial.state != "ok"]
    calm = [one for one in others if one.trial.state != "diverged"]
    scores = [one.trial.score for one in calm or others if one.trial.score is not None]
    if shown:
        best = min(shown) if minimize else max(shown)
        reach = max(2 * (well.most - well.least), 2 * abs(best))
        scores = [score for score in scores if abs(score - best) <= reach]
    return Scale.of([*shown, *scores], minimize=minimize, keep=shown)


def curve_scale(record: Record) -> Scale:
    """For all points of all curves."""
    curves = [one.curve.values() for one in (*record.entries, *record.baselines) if one.trial.state != "diverged"]
    return Scale.of([score for curve in curves for score in curve], minimize=record.view.minimize)


def draw_all(record: Record) -> Plots:
    """Draw whatever there is enough for."""
    well, wide = score_scale(record), wide_scale(record)
    begun = any(one.trial.score is not None and math.isfinite(one.trial.score) for one in record.entries)

    def drawn(name: str, draw: Draw, *, wanted: bool) -> Plot | None:
        return render(name, draw) if wanted else None

    across, up = (_number(record, setting) for setting in _MAP)
    both = any(across and up and across.name in one.params and up.name in one.params for one in record.ended_well)
    return Plots(
        confirmation=drawn(
            "confirmation",
            functools.partial(confirmed.draw_confirmation, record),
            wanted=record.confirmation is not None and any(a.scores for a in record.confirmation.candidates),
        ),
        history=drawn("best-so-far", lambda dark: history.draw_best_so_far(record, wide, dark), wanted=begun),
        importances=tuple(_importances(record)),
        map=drawn("k-alpha", lambda dark: _map(record, well, across, up, dark), wanted=both),
        slices=tuple(
            (axis, render(f"slice-{_file_name(axis)}", functools.partial(settings.draw_slice, record, wide, axis)))
            for axis in record.axes
            if begun
        ),
        trades=tuple(
            (
                one,
                render(
                    f"front-{one.x}" if one.x != "bytes" else "front-bytes",
                    functools.partial(trade.draw_trade, record, one),
                ),
            )
            for one in trades(record)
        ),
        curves=drawn(
            "curves",
            lambda dark: history.draw_curves(record, curve_scale(record), dark),
            wanted=any(len(one.curve) > 1 for one in record.entries),
        ),
    )


def _map(record: Record, scale: Scale, across: Axis | None, up: Axis | None, dark: bool) -> Sketch:
    assert across is not None
    assert up is not None
    return settings.draw_map(record, scale, across, up, dark)


def _importances(record: Record) -> Sequence[tuple[str, Importances, Plot]]:
    found: list[tuple[str, Importances, Plot]] = []
    for place, objective in enumerate(record.view.objectives):
        for rated in importances(record, score_scale(record, place), place):
            name = "importances" if not found else f"importances-{len(found) + 1}"
            draw = functools.partial(settings.draw_importances, rated, objective.metric)
            found.append((objective.metric, rated, render(name, draw)))
    return found


def _values(entries: Sequence[Entry], objective: int) -> list[float]:
    return [one.trial.values[objective] if one.trial.values else one.score for one in entries]


def _number(record: Record, setting: str) -> Axis | None:
    return next((axis for axis in record.axes if axis.setting == setting and axis.choices is None), None)


def _file_name(axis: Axis) -> str:
    return axis.setting.replace(".", "-").replace("_", "-")
