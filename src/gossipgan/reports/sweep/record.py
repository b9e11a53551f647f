"""A sweep as its page wants it: every trial's outcome, what was proposed, and its curve."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gossipgan.reports.sweep.confirmation import Confirmation, read_confirmation
from gossipgan.sweeps import StudyStorage, SweepView, TrialView, view
from gossipgan.sweeps.study import baselines_of

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


class Axis(NamedTuple):
    """A setting that is searched.

    Attributes:
        name: as Optuna has it: the dotted setting, or ``one / other`` for a ratio.
        setting: the dotted setting.
        low, high: the range of a number; 0 and 0 of choices.
        log: whether a number is searched evenly in its logarithm.
        choices: None of a number.
        when: the conditions under which it is searched, such as ``lookahead.kind: joint``; empty: always.
        distribution: Optuna's.
    """

    name: str
    setting: str
    low: float
    high: float
    log: bool
    choices: tuple[Any, ...] | None
    when: str
    distribution: "BaseDistribution"

    @property
    def span(self) -> str:
        """What is searched, in words."""
        if self.choices is not None:
            return ", ".join(map(show_value, self.choices))
        return f"{self.low:g} to {self.high:g}{', log' if self.log else ''}"

    def at_edge(self, value: Any) -> bool:
        """Whether a number lies within a fiftieth of its range from an end: a better one may lie outside."""
        if self.choices is not None or self.low == self.high or isinstance(value, bool):
            return False
        low, high, place = (math.log(x) if self.log else x for x in (self.low, self.high, float(value)))
        return not 0.02 < (place - low) / (high - low) < 0.98


class Entry(NamedTuple):
    """A trial, or a baseline.

    Attributes:
        params: what Optuna proposed, by axis.
        curve: scores by iteration, of its first seed.
    """

    trial: TrialView
    params: dict[str, Any]
    curve: dict[int, float]

    @property
    def name(self) -> str:
        return self.trial.name

    @property
    def title(self) -> str:
        """As people read it: of a baseline its experiment."""
        return self.trial.name.removeprefix("baseline-")

    @property
    def ok(self) -> bool:
        """Whether it ended well, with a score that is a number."""
        return self.trial.state == "ok" and self.trial.score is not None and math.isfinite(self.trial.score)

    @property
    def score(self) -> float:
        """Of one that is ok."""
        assert self.trial.score is not None
        return self.trial.score

    @property
    def sent(self) -> float | None:
        """Bytes sent by its runs, all seeds together; none by one that took its scores from another."""
        if self.trial.bytes is None:
            return None
        return 0.0 if self.trial.duplicate_of is not None else self.trial.bytes * max(1, len(self.trial.scores))


class Record(NamedTuple):
    """A sweep, at one moment.

    Attributes:
        axes: what is searched, in the sweep file's order.
        ties: settings that always have another's value, by dotted key.
        entries: trials in order.
        baselines: experiments that ran beside them.
        seeds: of every trial's runs.
        confirmation: what fresh seeds said; None: not asked for yet.
    """

    view: SweepView
    axes: tuple[Axis, ...]
    ties: dict[str, str]
    entries: tuple[Entry, ...]
    baselines: tuple[Entry, ...]
    seeds: tuple[int, ...]
    confirmation: Confirmation | None

    @property
    def ended_well(self) -> tuple[Entry, ...]:
        """Trials that are ok."""
        return tuple(entry for entry in self.entries if entry.ok)

    @property
    def best(self) -> Entry | None:
        """The best by the first objective."""
        best = self.view.best
        return None if best is None else self.find(best.name)

    def find(self, name: str) -> Entry | None:
        """A trial or baseline by its name."""
        return next((entry for entry in (*self.entries, *self.baselines) if entry.name == name), None)


def read(storage: StudyStorage, name: str, work: Path) -> Record:
    """Look at a sweep, unfinished or not.

    Args:
        work: the folder of all sweeps' runs.

    Raises:
        UserError: there is no such sweep, or its confirmation is damaged.
    """
    import optuna

    seen = view(storage, name, work)
    study = optuna.load_study(study_name=name, storage=storage.optuna)
    beside = optuna.load_study(study_name=baselines_of(name), storage=storage.optuna)
    # Trials that were added since the look stay out.
    trials = study.get_trials(deepcopy=False)[: len(seen.trials)]
    runs = beside.get_trials(deepcopy=False)[: len(seen.baselines)]
    definition: Mapping[str, Any] = study.user_attrs.get("definition", {})
    space: Mapping[str, Any] = definition.get("space", {})
    distributions: dict[str, BaseDistribution] = {}
    for trial in trials:
        distributions.update(trial.distributions)
    return Record(
        view=seen,
        axes=_axes(distributions, space),
        ties={key: str(one["same_as"]) for key, one in space.items() if "same_as" in one},
        entries=tuple(
            Entry(one, dict(trial.params), dict(trial.intermediate_values))
            for one, trial in zip(seen.trials, trials, strict=True)
        ),
        baselines=tuple(
            Entry(one, {}, dict(run.intermediate_values)) for one, run in zip(seen.baselines, runs, strict=True)
        ),
        seeds=tuple(definition.get("seeds", ())),
        confirmation=read_confirmation(work / name / "confirmation.json"),
    )


def show_value(value: Any) -> str:
    """A setting's value, to four digits."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _axes(distributions: Mapping[str, "BaseDistribution"], space: Mapping[str, Any]) -> tuple[Axis, ...]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    order = list(space)
    axes = []
    for name, one in distributions.items():
        setting = name.partition(" / ")[0]
        when = "; ".join(
            f"{key}: {', '.join(map(show_value, wanted)) if isinstance(wanted, list) else show_value(wanted)}"
            for key, wanted in space.get(setting, {}).get("when", {}).items()
        )
        if isinstance(one, CategoricalDistribution):
            axes.append(Axis(name, setting, 0.0, 0.0, False, tuple(one.choices), when, one))
        else:
            assert isinstance(one, FloatDistribution | IntDistribution)
            axes.append(Axis(name, setting, float(one.low), float(one.high), one.log, None, when, one))
    return tuple(sorted(axes, key=lambda axis: order.index(axis.setting) if axis.setting in order else len(order)))
