"""What a sweep's page says in words and tables: the conclusion, the best settings, outcomes and costs."""

from typing import Any, NamedTuple

from gossipgan.reports.statistics import number
from gossipgan.reports.sweep.drawing import UNDER_WAY, metric_label
from gossipgan.reports.sweep.record import Entry, Record, show_value

#: Stands for a setting that does not apply to a trial.
NOT_APPLIED = "\N{EN DASH}"


class Conclusion(NamedTuple):
    """What was found.

    Attributes:
        text: in a sentence.
        caveat: how far it may be believed.
        confirmed: whether fresh seeds said it.
    """

    text: str
    caveat: str
    confirmed: bool


class SettingRow(NamedTuple):
    """A setting of the best trial.

    Attributes:
        value: as people write it; an en dash where it does not apply.
        origin: what was searched, or why it is so.
        note: such as that the value lies at the edge of what was searched; else empty.
    """

    key: str
    value: str
    origin: str
    note: str


class OutcomeRow(NamedTuple):
    """Trials of one outcome.

    Attributes:
        reasons: names of trials by what they said.
        seconds, images: of all of them together.
        bytes: sent; None where no run of theirs sends any.
    """

    outcome: str
    trials: int
    reasons: dict[str, list[str]]
    seconds: float
    images: int
    bytes: float | None


def counted(record: Record) -> list[Entry]:
    """Trials of this sweep itself: warm starts were run by another."""
    return [entry for entry in record.entries if entry.trial.source is None]


def finished(record: Record) -> bool:
    """Whether no trial is under way, and no more are to come that the budget of trials knows of."""
    own = counted(record)
    budget = record.view.budget
    return not any(one.trial.state in UNDER_WAY for one in own) and (budget is None or len(own) >= budget)


def recommended(record: Record) -> Entry | None:
    """The trial to take: the best on fresh seeds, where there are such; else the best by its own score."""
    if record.confirmation is not None and record.confirmation.best is not None:
        confirmed = record.find(record.confirmation.best.name)
        if confirmed is not None:
            return confirmed
    return record.best


def export_command(record: Record, entry: Entry) -> str:
    """What writes a trial into the params file."""
    best = record.best
    which = "" if best is not None and best.name == entry.name else f" --trial {entry.trial.number}"
    return f"gossipgan sweep export {record.view.name}{which} --as {record.view.name}-best"


def conclude(record: Record) -> Conclusion:
    """The page's first sentence."""
    found = record.confirmation
    if found is not None and found.conclusion:
        seeds = f" {', '.join(found.seeds)}" if found.seeds else ""
        images = f", {found.images:,} pictures each" if found.images is not None else ""
        return Conclusion(found.conclusion, f"Confirmed on fresh seeds{seeds}{images}.", True)
    view, best = record.view, record.best
    done = [one for one in counted(record) if one.trial.state not in UNDER_WAY]
    if best is None:
        if not done:
            return Conclusion("No trial has ended yet.", "", False)
        states = ", ".join(f"{count} {state}" for state, count in view.counts.items())
        return Conclusion(f"None of {len(done)} trials has ended well: {states}.", "", False)
    label, over = metric_label(view.metric), ""
    if len(record.seeds) == 1:
        over = f" at seed {record.seeds[0]}"
    elif record.seeds:
        over = f", mean over seeds {', '.join(map(str, record.seeds))}"
    which = "Best" if finished(record) else "Best so far"
    of = f"{which} of {_trials(len(done))}: {best.name}"
    text = f"{of} with {label} {number(best.score)}{over}{_against(record, best)}."
    if len(view.objectives) > 1:
        text += f" {_trials(len(view.front))} on the Pareto front."
    if found is not None:
        return Conclusion(text, "The confirmation has no conclusion yet.", False)
    chance = "it was chosen by this very score, so it looks better than it is"
    command = f"gossipgan sweep confirm {view.name} runs it, and the baseline, on fresh seeds"
    return Conclusion(text, f"Not confirmed on fresh seeds: {chance}. {command}.", False)


def best_settings(record: Record, entry: Entry) -> list[SettingRow]:
    """Every setting of the space, in the sweep file's order as far as it is known."""
    rows = []
    settings = entry.trial.settings
    by_setting = {axis.setting: axis for axis in record.axes}
    for key in dict.fromkeys([*(axis.setting for axis in record.axes), *settings]):
        axis = by_setting.get(key)
        value = show_value(settings[key]) if key in settings else NOT_APPLIED
        note = ""
        if axis is None:
            origin = f"same as {record.ties[key]}" if key in record.ties else "fixed"
        else:
            origin = axis.span
            if axis.name in entry.params:
                proposed = entry.params[axis.name]
                if axis.name != key:
                    origin = f"{show_value(proposed)} times {axis.name.partition(' / ')[2]}; searched {axis.span}"
                if axis.at_edge(proposed):
                    note = "at the edge of what was searched; a wider range may hold a better one"
            elif axis.when:
                note = f"only where {axis.when}"
        rows.append(SettingRow(key, value, origin, note))
    return rows


def outcomes(record: Record) -> list[OutcomeRow]:
    """By outcome, those that ended well first; then the baselines, all together."""
    groups: dict[str, list[Entry]] = {}
    for entry in counted(record):
        groups.setdefault(entry.trial.state, []).append(entry)
    order = ["ok", "pruned", "diverged", "crashed", "out-of-memory", "timed-out", *UNDER_WAY]
    names = sorted(groups, key=lambda name: (order.index(name) if name in order else len(order), name))
    return [_row(name, groups[name]) for name in names]


def total(name: str, entries: list[Entry]) -> OutcomeRow:
    """What some trials cost together."""
    return _row(name, entries)._replace(reasons={})


def as_json(record: Record) -> dict[str, Any]:
    """The numbers of the page."""
    view, best, chosen = record.view, record.best, recommended(record)
    conclusion = conclude(record)
    return {
        "sweep": view.name,
        "file": view.file,
        "metric": view.metric,
        "objectives": [one._asdict() for one in view.objectives],
        "finished": finished(record),
        "conclusion": conclusion.text,
        "caveat": conclusion.caveat,
        "confirmed": conclusion.confirmed,
        "confirmation": None if record.confirmation is None else record.confirmation.content,
        "best": None if best is None else best.name,
        "recommended": None if chosen is None else {"name": chosen.name, "export": export_command(record, chosen)},
        "front": [trial.name for trial in view.front],
        "counts": view.counts,
        "seconds": view.spent,
        "cost": [one._asdict() for one in [*outcomes(record), total("baselines", list(record.baselines))]],
        "baselines": [_entry(one) for one in record.baselines],
        "trials": [_entry(one) for one in record.entries],
    }


def _entry(entry: Entry) -> dict[str, Any]:
    trial = entry.trial
    return {
        "name": trial.name,
        "outcome": trial.state,
        "reason": trial.reason,
        "score": trial.score,
        "values": trial.values,
        "scores": trial.scores,
        "settings": trial.settings,
        "seconds": trial.seconds,
        "bytes": trial.bytes,
        "images": trial.images,
        "duplicate_of": trial.duplicate_of,
        "source": trial.source,
    }


def _row(name: str, entries: list[Entry]) -> OutcomeRow:
    reasons: dict[str, list[str]] = {}
    for entry in entries:
        if entry.trial.reason:
            reasons.setdefault(entry.trial.reason, []).append(entry.name)
    sent = [one.sent for one in entries if one.sent is not None]
    return OutcomeRow(
        outcome=name,
        trials=len(entries),
        reasons=dict(sorted(reasons.items(), key=lambda one: -len(one[1]))),
        seconds=sum(one.trial.seconds for one in entries),
        images=sum(one.trial.images or 0 for one in entries),
        bytes=sum(sent) if sent else None,
    )


def _against(record: Record, best: Entry) -> str:
    """The best against the best of the baselines."""
    beside = [one for one in record.baselines if one.ok]
    if not beside:
        return ""
    minimize = record.view.minimize
    other = min(beside, key=lambda one: one.score if minimize else -one.score)
    name = other.title
    gap = best.score - other.score
    if gap == 0:
        return f", as {name} has"
    better = (gap < 0) == minimize
    return (
        f", {number(abs(gap))} {'lower' if gap < 0 else 'higher'} than {name}'s {number(other.score)}"
        f" ({'better' if better else 'worse'})"
    )


def _trials(count: int) -> str:
    return f"{count} trial{'' if count == 1 else 's'}"
