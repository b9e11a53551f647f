"""A sweep as MLflow is to show it: its study, its view and its runs, in plain values."""

import json
import math
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gossipgan.config import TrackingSettings
from gossipgan.errors import UserError
from gossipgan.runs import Project, RunDirectory
from gossipgan.sweeps.processes import read_curve
from gossipgan.sweeps.study import OPEN, Onlooker, StudyStorage, SweepView, TrialView, baselines_of
from gossipgan.tracking import SeedRun, ShownSweep, SweepMirror, SweepRecord, SweepTrial

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

#: A study's attribute: what tells it from a study of the same name in another storage.
_ID = "id"


def sync_sweep(name: str, url: str, *, tracking: TrackingSettings, root: Path) -> ShownSweep:
    """Show a sweep in MLflow as it is now; may be repeated. What MLflow shows as running, and is not, is closed.

    Args:
        url: of the sweep's storage.
        tracking: where to; with ``mlflow: false`` nothing is done.
        root: the folder of ``params.yaml``.

    Raises:
        UserError: there is no such sweep, or a file of a run is damaged.
    """
    if not tracking.mlflow:
        return ShownSweep((), (), (), None)
    with closing(StudyStorage(url, create=False)) as storage:
        return SweepMirror(tracking, root).show(Recorder(storage, name, root).read())


class Recorder:
    """Reads one sweep again and again, in plain values; of trials and baselines that have ended nothing is read twice.

    Args:
        root: the folder of ``params.yaml``.

    Raises:
        UserError: there is no such sweep.
    """

    def __init__(self, storage: StudyStorage, name: str, root: Path) -> None:
        import optuna

        self._name = name
        self._root = root
        self._onlooker = Onlooker(storage, name, root / "work" / "sweeps")
        self._study = optuna.load_study(study_name=name, storage=storage.optuna)
        self._baselines = optuna.load_study(study_name=baselines_of(name), storage=storage.optuna)
        if _ID not in self._study.user_attrs:
            with storage.turn(name):
                if _ID not in self._study.user_attrs:
                    self._study.set_user_attr(_ID, uuid.uuid4().hex)
        about = self._study.user_attrs
        self._id, self._definition = str(about[_ID]), about["definition"]
        self._ended: dict[str, SweepTrial] = {}

    def read(self) -> SweepRecord:
        """The sweep as it is now."""
        sweep = self._onlooker.look()
        space, fixed = self._definition["space"], self._definition["settings"]
        trials = [
            *self._trials(sweep, sweep.baselines, self._baselines, "baseline", {}),
            *self._trials(sweep, sweep.trials, self._study, "trial", fixed),
            *_confirmed(self._root / "work" / "sweeps" / self._name / "confirm", sweep.metric),
        ]
        return SweepRecord(
            id=self._id,
            name=self._name,
            file=self._root / sweep.file,
            report=Project(self._root).reports / "sweeps" / self._name,
            metric=sweep.metric,
            minimize=sweep.minimize,
            searched=tuple(key for key, one in space.items() if not {"value", "same_as"} & one.keys()),
            seconds=sweep.spent,
            trials=tuple(one for one in trials if one.state != "waiting"),
        )

    def _trials(
        self, sweep: SweepView, views: tuple[TrialView, ...], study: "Study", role: str, fixed: dict[str, object]
    ) -> Iterator[SweepTrial]:
        frozen = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
        for one in views:
            if one.name in self._ended:
                yield self._ended[one.name]
                continue
            trial = _trial(one, frozen[one.number], sweep, role, fixed)
            if one.state not in OPEN:
                self._ended[one.name] = trial
            yield trial


def _trial(one: TrialView, frozen: "FrozenTrial", sweep: SweepView, role: str, fixed: dict[str, object]) -> SweepTrial:
    metrics = {"seconds": one.seconds}
    if one.state == "ok" and one.values is not None:
        metrics["score"] = one.values[0]
        metrics |= {objective.metric: value for objective, value in zip(sweep.objectives, one.values, strict=True)}
        metrics |= {f"score/seed-{seed}": score for seed, score in one.scores.items()}
    if one.bytes is not None:
        metrics["bytes"] = one.bytes
    copied = None if one.duplicate_of is None else f"trial-{one.duplicate_of}"
    return SweepTrial(
        number=one.number,
        name=one.name,
        role=role,
        state=one.state,
        settings={**fixed, **one.settings},
        metrics=metrics,
        # A copy has no runs, but the settings and curves of those that it repeats.
        runs=_runs(one.folder if copied is None else one.folder.with_name(copied)),
        reason=one.reason,
        copy_of=one.source or copied,
        started=_unix(frozen.datetime_start),
        ended=_unix(frozen.datetime_complete),
    )


def _runs(folder: Path) -> dict[int, SeedRun]:
    """A trial's runs by seed, oldest first."""
    begun = [RunDirectory(path) for path in folder.glob("seed-*/") if RunDirectory(path).settings.exists()]
    begun.sort(key=lambda run: run.settings.stat().st_mtime)
    return {int(run.path.name.removeprefix("seed-")): SeedRun(run, _scores(run)) for run in begun}


def _confirmed(folder: Path, metric: str) -> list[SweepTrial]:
    """Settings that were run again on fresh seeds, by the length of their runs; of each, the runs that have ended."""
    arms: dict[str, dict[int, SeedRun]] = {}
    for path in sorted(folder.glob("*/seed-*/")):
        run = RunDirectory(path)
        if run.result.exists():
            settings, identity = run.read_settings()
            name = f"confirm-{path.parent.name}-{settings.training.steps}-steps"
            arms.setdefault(name, {})[int(identity["seed"])] = SeedRun(run, _scores(run))
    return [_arm(name, dict(sorted(runs.items())), metric) for name, runs in arms.items()]


def _arm(name: str, runs: dict[int, SeedRun], metric: str) -> SweepTrial:
    scores: dict[int, float] = {}
    reasons: list[str] = []
    for seed, one in runs.items():
        result = one.directory.read_result()
        found = one.scores.get(metric, read_curve(one.directory, metric).last)
        if result["outcome"] == "ok" and isinstance(found, float) and math.isfinite(found):
            scores[seed] = found
        else:
            reasons.append(f"seed {seed}: {result.get('reason') or f'{metric} is {found}'}")
    metrics = {f"score/seed-{seed}": score for seed, score in scores.items()}
    if not reasons:
        metrics |= dict.fromkeys(("score", metric), sum(scores.values()) / len(scores))
    return SweepTrial(
        number=0,
        name=name,
        role="confirm",
        state="diverged" if reasons else "ok",
        settings={},
        metrics=metrics,
        runs=runs,
        reason="; ".join(reasons) or None,
        copy_of=None,
        started=min(one.directory.settings.stat().st_mtime for one in runs.values()),
        ended=max(one.directory.result.stat().st_mtime for one in runs.values()),
    )


def _scores(run: RunDirectory) -> dict[str, float | str]:
    """Every score of a finished run, where they were wanted."""
    file = run.path.with_name(f"{run.path.name}.scores.json")
    if not file.exists():
        return {}
    try:
        content: dict[str, float | str] = json.loads(file.read_text())
    except ValueError:
        raise UserError(f"{file}: not valid JSON; delete it, and the scores are left out") from None
    return content


def _unix(local: datetime | None) -> float | None:
    return None if local is None else local.timestamp()
