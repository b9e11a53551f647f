"""What a sweep looks like from outside, at one moment: read from its study and from the journals of its runs."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory, read_journal
from gossipgan.sweeps.storage import StudyStorage
from gossipgan.sweeps.study import baselines_of, held
from gossipgan.sweeps.watch import read_curve

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


class TrialView(NamedTuple):
    """A trial, or a baseline.

    Attributes:
        name: ``trial-N``, or ``baseline-EXPERIMENT``.
        state: an outcome; or ``running``, ``waiting``, or ``interrupted`` (its worker is no more).
        score: mean over seeds of one that is ok; else the latest of the curve.
        scores: by seed, of the seeds that are done.
        step, steps: iterations done and wanted, all seeds together.
        seconds: spent on it so far.
        left: seconds that a running one will take, by its speed so far; None where that is not known.
        settings: what was proposed, by dotted key.
        folder: where its runs are.
        source: of a warm start: study and number of the trial that it repeats.
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

    def as_dict(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        content = self._asdict()
        return {**content, "folder": str(self.folder)}


class SweepView(NamedTuple):
    """A sweep.

    Attributes:
        metric: full name of the score.
        budget: trials in all; None: no limit of this kind.
        spent: seconds of running so far.
        stop: whether it was asked to stop.
    """

    name: str
    file: str
    metric: str
    minimize: bool
    budget: int | None
    spent: float
    stop: bool
    trials: tuple[TrialView, ...]
    baselines: tuple[TrialView, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Trials by state; warm starts are not counted."""
        return dict(sorted(Counter(trial.state for trial in self.trials if trial.source is None).items()))

    @property
    def running(self) -> tuple[TrialView, ...]:
        return tuple(trial for trial in (*self.baselines, *self.trials) if trial.state == "running")

    @property
    def best(self) -> TrialView | None:
        """The best trial that is ok; of equals the first."""
        ended = [trial for trial in self.trials if trial.state == "ok" and trial.score is not None]
        sign = 1 if self.minimize else -1
        return min(ended, key=lambda trial: sign * (trial.score or 0.0), default=None)

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
            "direction": "minimize" if self.minimize else "maximize",
            "budget": self.budget,
            "seconds": self.spent,
            "trial_seconds": self.seconds,
            "stop": self.stop,
            "counts": self.counts,
            "running": [trial.as_dict() for trial in self.running],
            "best": None if self.best is None else self.best.as_dict(),
            "baselines": [trial.as_dict() for trial in self.baselines],
        }


def view(storage: StudyStorage, name: str, work: Path) -> SweepView:
    """Look at a sweep.

    Args:
        work: the folder of all sweeps' runs.

    Raises:
        UserError: there is no such sweep.
    """
    import optuna

    names = sweep_names(storage)
    if name not in names:
        from gossipgan.config import nearest

        raise UserError(f"no sweep {name!r}; there are {', '.join(names) or 'none'}" + nearest(name, names))
    study = optuna.load_study(study_name=name, storage=storage.optuna)
    baselines = optuna.load_study(study_name=baselines_of(name), storage=storage.optuna)
    about = study.user_attrs
    metric, folder = str(about["score"]), work / name
    return SweepView(
        name=name,
        file=str(about["file"]),
        metric=metric,
        minimize=study.direction.name == "MINIMIZE",
        budget=about.get("budget"),
        spent=float(about["seconds"]),
        stop=bool(about.get("stop")),
        trials=tuple(_trial(trial, folder, metric) for trial in study.get_trials(deepcopy=False)),
        baselines=tuple(_trial(trial, folder, metric) for trial in baselines.get_trials(deepcopy=False)),
    )


def sweep_names(storage: StudyStorage) -> list[str]:
    """All sweeps of a storage, oldest first."""
    return [study.study_name for study in storage.optuna.get_all_studies() if "hash" in study.user_attrs]


def _trial(trial: "FrozenTrial", folder: Path, metric: str) -> TrialView:
    about = trial.user_attrs
    baseline = about.get("baseline")
    name = f"trial-{trial.number}" if baseline is None else f"baseline-{baseline}"
    state = _state(trial)
    step, left, score = 0, None, None
    if state == "ok":
        score = trial.values[0]
    elif trial.intermediate_values and trial.last_step is not None:
        score = trial.intermediate_values[trial.last_step]
    if state in ("running", "interrupted", "stopped"):
        step, left, latest = _progress(folder / name, about, metric)
        score = score if latest is None else latest
    return TrialView(
        number=trial.number,
        name=name,
        state=state,
        score=score,
        scores=dict(about.get("scores", {})),
        step=step,
        steps=int(about.get("steps", 0)),
        seconds=float(about.get("seconds", 0.0)),
        left=left if state == "running" else None,
        settings=dict(about.get("settings", {})),
        folder=folder / name,
        reason=about.get("reason"),
        duplicate_of=about.get("duplicate_of"),
        source=about.get("from"),
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


def _progress(folder: Path, about: dict[str, Any], metric: str) -> tuple[int, float | None, float | None]:
    """Iterations done over all seeds, seconds left, and the latest score, of a trial under way."""
    done, seconds, latest = 0, 0.0, None
    for path in sorted(folder.glob("seed-*/")):
        run = RunDirectory(path)
        curve = read_curve(run, metric)
        done += curve.step
        latest = curve.last if curve.last is not None else latest
        if run.clock.exists():
            seconds += max((float(entry["seconds"]) for entry in read_journal(run.clock)), default=0.0)
    steps = int(about.get("steps", 0))
    return done, seconds / done * max(0, steps - done) if done else None, latest
