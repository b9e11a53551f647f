"""What a sweep looks like from outside, at one moment: read from its study and from the journals of its runs."""

import functools
import operator
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gossipgan.errors import UserError
from gossipgan.sweeps.processes import Spent, SpentReader, read_spent
from gossipgan.sweeps.study.storage import StudyStorage
from gossipgan.sweeps.study.study import baselines_of, held

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


class ObjectiveView(NamedTuple):
    """What trials are judged by.

    Attributes:
        name: as the sweep file has it, such as ``fid`` or ``bytes``.
        metric: full name, such as ``fid_digits_2000_ema``.
    """

    name: str
    metric: str
    minimize: bool

    @property
    def direction(self) -> str:
        return "minimize" if self.minimize else "maximize"


class TrialView(NamedTuple):
    """A trial, or a baseline.

    Attributes:
        name: ``trial-N``, or ``baseline-EXPERIMENT``.
        state: an outcome; or ``running``, ``waiting``, or ``interrupted`` (its worker is no more).
        score: by the first objective, mean over seeds of one that is ok; else the latest of the curve.
        scores: by seed, of the seeds that are done.
        step, steps: iterations done and wanted, all seeds together.
        seconds: spent on it so far.
        left: seconds that a running one will take, by its speed so far; None where that is not known.
        settings: what was proposed, by dotted key.
        folder: where its runs are.
        source: of a warm start: study and number of the trial that it repeats.
        values: of one that is ok, by each objective the mean over seeds; ``values[0]`` is the score.
        bytes: sent by all learners of a run together, mean over the seeds that were begun.
        images: training pictures that it used, all seeds together; 0 of one that took its scores from another.
    """

    number: int
    name: str
    state: str
    score: float | None
    scores: dict[str, float]
    step: int
    steps: int
    seconds: float
    left: float | None
    settings: dict[str, Any]
    folder: Path
    reason: str | None
    duplicate_of: int | None
    source: str | None
    values: tuple[float, ...] | None = None
    bytes: float | None = None
    images: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        content = self._asdict()
        return {**content, "folder": str(self.folder)}


class SweepView(NamedTuple):
    """A sweep.

    Attributes:
        objectives: what trials are judged by; the first is the score.
        budget: trials in all; None: no limit of this kind.
        spent: seconds of running so far.
        stop: whether it was asked to stop.
    """

    name: str
    file: str
    objectives: tuple[ObjectiveView, ...]
    budget: int | None
    spent: float
    stop: bool
    trials: tuple[TrialView, ...]
    baselines: tuple[TrialView, ...]

    @property
    def metric(self) -> str:
        """Full name of the score."""
        return self.objectives[0].metric

    @property
    def minimize(self) -> bool:
        """Whether a lower score is better."""
        return self.objectives[0].minimize

    @property
    def counts(self) -> dict[str, int]:
        """Trials by state; warm starts are not counted."""
        return dict(sorted(Counter(trial.state for trial in self.trials if trial.source is None).items()))

    @property
    def running(self) -> tuple[TrialView, ...]:
        return tuple(trial for trial in (*self.baselines, *self.trials) if trial.state == "running")

    @property
    def best(self) -> TrialView | None:
        """The best trial that is ok, by the first objective; of equals the first of the front."""
        return next(iter(self.front), None)

    @property
    def front(self) -> tuple[TrialView, ...]:
        """Trials that are ok and that no other matches in every objective and betters in one, best score first.

        Of trials with equal values it is the first alone. Of one objective it is the best.
        """
        costs: dict[tuple[float, ...], TrialView] = {}
        for trial in self.trials:
            if trial.state == "ok" and trial.values is not None:
                costs.setdefault(self._costs(trial.values), trial)
        front: list[tuple[float, ...]] = []
        for cost in sorted(costs):  # what betters one stands before it
            if not any(all(map(operator.le, other, cost)) for other in front):
                front.append(cost)
        return tuple(costs[cost] for cost in front)

    def _costs(self, values: tuple[float, ...]) -> tuple[float, ...]:
        """By each objective, the less the better."""
        return tuple(value if one.minimize else -value for value, one in zip(values, self.objectives, strict=True))

    @property
    def seconds(self) -> float:
        """Spent on all trials and baselines together."""
        return sum(trial.seconds for trial in (*self.trials, *self.baselines) if trial.source is None)

    def as_dict(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        return {
            "sweep": self.name,
            "file": self.file,
            "metric": self.metric,
            "direction": self.objectives[0].direction,
            "objectives": [{**one._asdict(), "direction": one.direction} for one in self.objectives],
            "budget": self.budget,
            "seconds": self.spent,
            "trial_seconds": self.seconds,
            "stop": self.stop,
            "counts": self.counts,
            "running": [trial.as_dict() for trial in self.running],
            "best": None if self.best is None else self.best.as_dict(),
            "front": [trial.as_dict() for trial in self.front],
            "baselines": [trial.as_dict() for trial in self.baselines],
        }


#: States in which a trial has not ended.
OPEN = ("running", "waiting", "interrupted", "stopped")

#: Shown what there is to see, again and again.
Show = Callable[[SweepView], None]


class Onlooker:
    """Looks at one sweep again and again; what has ended is read once, and of what runs only what is new.

    Args:
        work: the folder of all sweeps' runs.

    Raises:
        UserError: there is no such sweep.
    """

    def __init__(self, storage: StudyStorage, name: str, work: Path) -> None:
        import optuna
        from optuna.study import StudyDirection

        try:
            self._study = optuna.load_study(study_name=name, storage=storage.optuna)
            about = self._study.user_attrs
        except KeyError:
            about = {}
        if "hash" not in about:
            from gossipgan.config import nearest

            names = sweep_names(storage)
            raise UserError(f"no sweep {name!r}; there are {', '.join(names) or 'none'}" + nearest(name, names))
        self._baselines = optuna.load_study(study_name=baselines_of(name), storage=storage.optuna)
        self._name = name
        self._folder = work / name
        metrics = [str(metric) for metric in about.get("metrics", [about["score"]])]
        self._objectives = tuple(
            ObjectiveView(metric.partition("_")[0], metric, direction == StudyDirection.MINIMIZE)
            for metric, direction in zip(metrics, self._study.directions, strict=True)
        )
        self._ended: dict[str, TrialView] = {}
        self._readers: dict[str, SpentReader] = {}

    def look(self) -> SweepView:
        """What it looks like now."""
        about = self._study.user_attrs
        return SweepView(
            name=self._name,
            file=str(about["file"]),
            objectives=self._objectives,
            budget=about.get("budget"),
            spent=float(about["seconds"]),
            stop=bool(about.get("stop")),
            trials=tuple(map(self._trial, self._study.get_trials(deepcopy=False))),
            baselines=tuple(map(self._trial, self._baselines.get_trials(deepcopy=False))),
        )

    def _trial(self, trial: "FrozenTrial") -> TrialView:
        baseline = trial.user_attrs.get("baseline")
        name = f"trial-{trial.number}" if baseline is None else f"baseline-{baseline}"
        if name in self._ended:
            return self._ended[name]
        folder, metric = self._folder / name, self._objectives[0].metric
        if trial.state.is_finished():
            self._readers.pop(name, None)
            self._ended[name] = seen = _view_trial(trial, name, folder, _spent_by_ended(trial, folder, metric))
            return seen
        if _state(trial) == "waiting":  # not yet begun
            return _view_trial(trial, name, folder, Spent())
        return _view_trial(trial, name, folder, self._readers.setdefault(name, SpentReader(folder, metric)).read())


def view(storage: StudyStorage, name: str, work: Path) -> SweepView:
    """Look at a sweep once.

    Args:
        work: the folder of all sweeps' runs.

    Raises:
        UserError: there is no such sweep.
    """
    return Onlooker(storage, name, work).look()


def sweep_names(storage: StudyStorage) -> list[str]:
    """All sweeps of a storage, oldest first."""
    return [study.study_name for study in storage.optuna.get_all_studies() if "hash" in study.user_attrs]


def _view_trial(trial: "FrozenTrial", name: str, folder: Path, spent: Spent) -> TrialView:
    about = trial.user_attrs
    state = _state(trial)
    left, score, values = None, None, None
    if state == "ok":
        values = tuple(trial.values)
        score = values[0]
    elif trial.intermediate_values and trial.last_step is not None:
        score = trial.intermediate_values[trial.last_step]
    under_way = state in ("running", "interrupted", "stopped")
    if under_way:
        score = score if spent.score is None else spent.score
        if state == "running":
            left = spent.left(int(about.get("steps", 0)))
    return TrialView(
        number=trial.number,
        name=name,
        state=state,
        score=score,
        scores=dict(about.get("scores", {})),
        step=spent.step if under_way else 0,
        steps=int(about.get("steps", 0)),
        seconds=float(about.get("seconds", 0.0)),
        left=left,
        settings=dict(about.get("settings", {})),
        folder=folder,
        reason=about.get("reason"),
        duplicate_of=about.get("duplicate_of"),
        source=about.get("from"),
        values=values,
        bytes=spent.sent,
        images=spent.images if about.get("duplicate_of") is None else 0,
    )


def _state(trial: "FrozenTrial") -> str:
    from optuna.trial import TrialState

    if trial.state == TrialState.RUNNING:
        return "running" if held(trial) else "interrupted"
    if trial.state == TrialState.WAITING:
        if "worker" not in trial.user_attrs:
            return "waiting"
        # Any other outcome was noted by a worker that died before it could tell the study.
        return "stopped" if trial.user_attrs.get("outcome") == "stopped" else "interrupted"
    return str(trial.user_attrs.get("outcome", "crashed"))


def _spent_by_ended(trial: "FrozenTrial", folder: Path, metric: str) -> Spent:
    about = trial.user_attrs
    if "images" not in about:
        return _read_ended(folder, metric)
    return Spent(images=int(about["images"]), sent=about.get("bytes"))


@functools.cache
def _read_ended(folder: Path, metric: str) -> Spent:
    """What a trial used of which the study does not say it, as studies of earlier versions do not: it stays so."""
    return read_spent(folder, metric)
