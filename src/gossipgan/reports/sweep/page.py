"""A sweep's page: one self-contained file, like the pipeline's."""

import math
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from gossipgan.reports.page import data_uri
from gossipgan.reports.statistics import number
from gossipgan.reports.sweep import summary
from gossipgan.reports.sweep.drawing import bytes_text, metric_label
from gossipgan.reports.sweep.importance import FEWEST
from gossipgan.reports.sweep.plots import Plots
from gossipgan.reports.sweep.record import Entry, Record, show_value
from gossipgan.runs import RunDirectory
from gossipgan.sweeps.progress import duration


class Sample(NamedTuple):
    """A grid of samples as data URI, and what it is of."""

    picture: str
    caption: str


class Cell(NamedTuple):
    """A cell of the table of trials: what is shown, and what it is sorted by."""

    text: str
    sort: float | str


def page(record: Record, plots: Plots) -> str:
    """The page's HTML."""
    environment = Environment(
        loader=PackageLoader("gossipgan.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    chosen = summary.recommended(record)
    shown = [*record.baselines, *record.entries]
    return environment.get_template("sweep.html.j2").render(
        record=record,
        view=record.view,
        plots=plots,
        conclusion=summary.conclude(record),
        finished=summary.finished(record),
        own=summary.counted(record),
        chosen=chosen,
        on_fresh_seeds=record.confirmation is not None and record.confirmation.best is not None,
        command=None if chosen is None else summary.export_command(record, chosen),
        settings=[] if chosen is None else summary.best_settings(record, chosen),
        outcomes=summary.outcomes(record),
        costs=_costs(record),
        samples=[] if chosen is None else _samples(record, chosen),
        sends=any(entry.trial.bytes for entry in shown),
        rows=[(entry, _cells(record, entry)) for entry in shown],
        columns=_columns(record),
        about={entry.name: _about(record, entry) for entry in shown},
        data_uri=data_uri,
        label=metric_label,
        number=score_text,
        duration=duration,
        hours=lambda seconds: f"{seconds / 3600:.3g}",
        bytes_text=bytes_text,
        fewest=FEWEST,
        not_applied=summary.NOT_APPLIED,
    )


def score_text(score: float | None) -> str:
    """A score in a table; an en dash where there is none."""
    if score is None:
        return summary.NOT_APPLIED
    return number(score) if math.isfinite(score) else str(score)


def _costs(record: Record) -> list[summary.OutcomeRow]:
    rows = summary.outcomes(record)
    if record.baselines:
        rows.append(summary.total("baselines", list(record.baselines)))
    if len(rows) > 1:
        rows.append(summary.total("all", [*summary.counted(record), *record.baselines]))
    return rows


def _columns(record: Record) -> list[str]:
    """Headers of the table of trials."""
    objectives = [metric_label(one.metric) for one in record.view.objectives]
    axes = [axis.setting for axis in record.axes]
    return ["trial", "outcome", *objectives, *axes, "time", "device hours", "bytes sent", "pictures", "note"]


def _cells(record: Record, entry: Entry) -> list[Cell]:
    """A trial's row, without its name."""
    trial, beyond_all = entry.trial, math.inf if record.view.minimize else -math.inf
    values: tuple[float | None, ...] = (trial.score, *[None] * (len(record.view.objectives) - 1))
    cells = [Cell(trial.state, trial.state)]
    for value in trial.values or values:
        known = value is not None and math.isfinite(value)
        cells.append(Cell(score_text(value), value if known and value is not None else beyond_all))
    for axis in record.axes:
        setting = trial.settings.get(axis.setting)
        text = show_value(setting) if axis.setting in trial.settings else summary.NOT_APPLIED
        if isinstance(setting, int | float) and not isinstance(setting, bool):
            cells.append(Cell(text, float(setting)))
        else:
            cells.append(Cell(text, "" if setting is None else str(setting)))
    cells.append(Cell(duration(trial.seconds), trial.seconds))
    cells.append(Cell(f"{trial.seconds / 3600:.3g}", trial.seconds))
    sent, images = entry.sent, trial.images
    cells.append(Cell(summary.NOT_APPLIED if sent is None else bytes_text(sent), sent or 0.0))
    cells.append(Cell(summary.NOT_APPLIED if images is None else f"{images:,}", float(images or 0)))
    note = _note(entry)
    return [*cells, Cell(note, note)]


def _note(entry: Entry) -> str:
    trial = entry.trial
    notes = []
    if trial.duplicate_of is not None:
        notes.append(f"same settings as trial-{trial.duplicate_of}")
    if trial.source is not None:
        notes.append(f"known from {trial.source}")
    if trial.reason:
        notes.append(trial.reason)
    return "; ".join(notes)


def _about(record: Record, entry: Entry) -> dict[str, Any]:
    """What is shown beside a dot."""
    lines = [
        f"{axis.setting}: {show_value(entry.trial.settings[axis.setting])}"
        for axis in record.axes
        if axis.setting in entry.trial.settings
    ]
    values = entry.trial.values or (entry.trial.score,)
    scores = [
        f"{metric_label(one.metric)}: {score_text(value)}"
        for one, value in zip(record.view.objectives, values, strict=False)
    ]
    return {"head": f"{entry.name}: {entry.trial.state}", "lines": [*scores, *lines]}


def _samples(record: Record, chosen: Entry) -> list[Sample]:
    """The last grids of a trial, and of the best baseline at the same seeds."""
    source = chosen
    if chosen.trial.duplicate_of is not None:  # it was not run itself
        source = record.find(f"trial-{chosen.trial.duplicate_of}") or chosen
    minimize = record.view.minimize
    beside = sorted((one for one in record.baselines if one.ok), key=lambda one: one.score if minimize else -one.score)
    found = []
    shown = [(source, chosen.title)]
    shown += [(one, one.title if one.title == "baseline" else f"{one.title} (baseline)") for one in beside[:1]]
    for entry, name in shown:
        for path in sorted(entry.trial.folder.glob("seed-*/")):
            grids = sorted(RunDirectory(path).samples.glob("step-*.png"))
            if grids:
                found.append(Sample(data_uri(grids[-1].read_bytes()), f"{name}, {_seed_step(path, grids[-1])}"))
    return found


def _seed_step(run: Path, grid: Path) -> str:
    return f"{run.name.replace('-', ' ')}, iteration {int(grid.stem.removeprefix('step-')):,}"
