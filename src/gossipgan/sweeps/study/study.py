"""A sweep's study in the storage: what it is of, and its trials after an interruption.

A study's attributes: ``definition`` (what its trials have in common) and its ``hash``, ``family`` (the sweep file's
name, shared by its forks), ``file``, ``score`` and ``metrics`` (full names of the first objective and of all),
``extractor`` (its hash), ``budget``, ``seconds`` of running so far and when that was ``ticked``, and ``stop``. A
trial's: ``worker`` (who has it), ``settings`` by dotted key, ``fingerprint``, ``outcome``, ``reason``, ``scores`` by
seed (of the first objective), ``bytes``, ``images``, ``seconds``, ``failures``, ``duplicate_of``, and
``from`` (of a warm start: study/number).

Baselines stand in a study of their own, ``NAME.baselines``: they have no parameters, and samplers that look for
parameters that all trials share would find none.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gossipgan.config import fingerprinted, flatten
from gossipgan.errors import UserError
from gossipgan.sweeps.processes import Identity
from gossipgan.sweeps.search import Sweep
from gossipgan.sweeps.study.storage import StudyStorage

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

#: Seconds without a sign of life after which a worker on another host counts as dead.
_SILENT = 180.0

#: Settings that a fork tries first where the values of the old trials are of no use to it.
_WARM_STARTS = 5


def baselines_of(name: str) -> str:
    """Name of the study of a sweep's baselines."""
    return f"{name}.baselines"


def definition(sweep: Sweep, data_digest: str) -> dict[str, Any]:
    """What all trials of a study have in common, as JSON has it."""
    always = {key for key, one in sweep.settings.space.items() if not one.when}
    settings = flatten(fingerprinted(sweep.base))
    objectives = [one.model_dump(mode="json") for one in sweep.objectives]
    content = {
        "space": {
            key: one.model_dump(mode="json", by_alias=True, exclude_unset=True)
            for key, one in sweep.settings.space.items()
        },
        "objective": objectives[0] if len(objectives) == 1 else objectives,
        "seeds": list(sweep.seeds),
        "settings": {key: value for key, value in settings.items() if key not in always},
        "data": data_digest,
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain


def choose_study(storage: StudyStorage, sweep: Sweep, data_digest: str, metrics: Sequence[str], *, fork: bool) -> str:
    """Find the study of a sweep file, or make it.

    Args:
        metrics: full names of what trials are judged by.
        fork: make a new study, warm-started with the trials of the latest, where the file has changed since.

    Returns:
        The study's name: the file's, or ``NAME-2``, ... for its forks.

    Raises:
        UserError: the file has changed, and ``fork`` was not asked for; or nothing has, and it was.
    """
    wanted = definition(sweep, data_digest)
    with storage.turn(sweep.name):
        studies = {one.study_name: one for one in storage.optuna.get_all_studies()}
        family = [name for name, one in studies.items() if one.user_attrs.get("family") == sweep.name]
        for name in reversed(family):
            if studies[name].user_attrs["hash"] == _hash(wanted):
                if fork:
                    raise UserError(f"{sweep.path}: nothing has changed since study {name} began, so go on with that")
                _enqueue(storage, sweep, name)
                return name
        if family and not fork:
            changes = "; ".join(_changes(studies[family[-1]].user_attrs["definition"], wanted))
            raise UserError(
                f"{sweep.path}: study {family[-1]} was begun with another space: {changes}; "
                "put that back, or begin a new study from its trials with --fork"
            )
        number = 1
        while (name := sweep.name if number == 1 else f"{sweep.name}-{number}") in studies and (
            "hash" in studies[name].user_attrs
        ):
            number += 1
        _create(storage, sweep, name, wanted, metrics, family[-1] if family else None)
        return name


def _create(
    storage: StudyStorage,
    sweep: Sweep,
    name: str,
    wanted: dict[str, Any],
    metrics: Sequence[str],
    before: str | None,
) -> None:
    import optuna

    for one in (name, baselines_of(name)):
        if any(found.study_name == one for found in storage.optuna.get_all_studies()):
            optuna.delete_study(study_name=one, storage=storage.optuna)  # its making was cut short
        optuna.create_study(
            storage=storage.optuna,
            study_name=one,
            directions=["minimize" if one.minimize else "maximize" for one in sweep.objectives],
        )
    study = optuna.load_study(study_name=name, storage=storage.optuna)
    for key, value in {
        "definition": wanted,
        "family": sweep.name,
        "file": os.path.relpath(sweep.path.resolve(), sweep.params.path.parent.resolve()),
        "score": metrics[0],
        "metrics": list(metrics),
        "seconds": 0.0,
    }.items():
        study.set_user_attr(key, value)
    if before is not None:
        _warm_start(study, optuna.load_study(study_name=before, storage=storage.optuna), sweep, wanted)
    _enqueue(storage, sweep, name)
    study.set_user_attr("hash", _hash(wanted))  # the last act: without it the study is not yet made


def _enqueue(storage: StudyStorage, sweep: Sweep, name: str) -> None:
    import optuna

    study = optuna.load_study(study_name=name, storage=storage.optuna)
    for params in sweep.enqueued:
        study.enqueue_trial(params, skip_if_exists=True)
    baselines = optuna.load_study(study_name=baselines_of(name), storage=storage.optuna)
    there = {trial.user_attrs.get("baseline") for trial in baselines.get_trials(deepcopy=False)}
    for baseline in sweep.baselines:
        if baseline not in there:
            baselines.enqueue_trial({}, user_attrs={"baseline": baseline})


def _warm_start(study: "Study", before: "Study", sweep: Sweep, wanted: dict[str, Any]) -> None:
    """What the old trials teach: their values where they were measured alike, else the best of their settings."""
    from optuna.study import StudyDirection
    from optuna.trial import TrialState, create_trial

    old = before.user_attrs["definition"]
    comparable = all(old[part] == wanted[part] for part in wanted if part not in ("space", "settings"))
    comparable &= all(old["settings"].get(key, value) == value for key, value in wanted["settings"].items())
    comparable &= all(
        old["space"].get(key) == one for key, one in wanted["space"].items() if "value" in one or "same_as" in one
    )
    ended = before.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
    fitting = [trial for trial in ended if sweep.space.holds(trial.params)]
    if not comparable:
        sign = 1 if before.directions[0] == StudyDirection.MINIMIZE else -1
        best = sorted(
            (trial for trial in fitting if trial.user_attrs.get("outcome") == "ok"),
            key=lambda trial: sign * trial.values[0],
        )
        for trial in best[:_WARM_STARTS]:
            study.enqueue_trial(trial.params)
        return
    for trial in fitting:
        study.add_trial(
            create_trial(
                state=trial.state,
                values=trial.values,
                params=trial.params,
                distributions=sweep.space.distributions(trial.params),
                intermediate_values=trial.intermediate_values,
                user_attrs={**trial.user_attrs, "from": f"{before.study_name}/{trial.number}"},
            )
        )


def check_unchanged(storage: StudyStorage, sweep: Sweep, name: str, data_digest: str) -> None:
    """See that a study is still of this sweep file.

    Raises:
        UserError: there is no such study, or the file or the settings under it have changed.
    """
    studies = {one.study_name: one for one in storage.optuna.get_all_studies()}
    about = studies[name].user_attrs if name in studies else {}
    if about.get("hash") != _hash(definition(sweep, data_digest)):
        raise UserError(f"{sweep.path}: has changed since study {name} began; see gossipgan sweep run")


def recover(storage: StudyStorage, name: str) -> list[str]:
    """Put the trials of workers that are no more back into the queue; returns what was put back."""
    return storage.patiently(lambda: _recover(storage, name))


def _recover(storage: StudyStorage, name: str) -> list[str]:
    import optuna
    from optuna.trial import TrialState

    recovered = []
    with storage.turn(name):
        for study_name in (baselines_of(name), name):
            study = optuna.load_study(study_name=study_name, storage=storage.optuna)
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                if not held(trial):
                    storage.set_waiting(study_name, trial.number)
                    recovered.append(f"{study_name}/{trial.number}")
    return recovered


def held(trial: "FrozenTrial") -> bool:
    """Whether a worker that lives has a running trial."""
    stored = trial.user_attrs.get("worker")
    if stored is None:
        return False
    worker = Identity.read(stored)
    return worker.lives if worker.here else time.time() - float(stored["beat"]) < _SILENT


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two definitions, by key."""
    changes = []
    for part in new:
        before, after = old.get(part), new[part]
        if not isinstance(before, dict) or not isinstance(after, dict):
            before, after = {"": before}, {"": after}
        for key in {**before, **after}:
            if before.get(key, ...) != after.get(key, ...):
                was, now = (json.dumps(one[key]) if key in one else "absent" for one in (before, after))
                changes.append(f"{part}{'.' if key else ''}{key} was {was}, is {now}")
    return changes


def _hash(wanted: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
