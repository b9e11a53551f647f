"""Which settings the score depends on: functional ANOVA, as Optuna works it out.

Hutter, Hoos, Leyton-Brown, "An Efficient Approach for Assessing Hyperparameter Importance" (ICML 2014).
"""

import math
import warnings
from typing import NamedTuple

from gossipgan.reports.sweep.record import Axis, Entry, Record
from gossipgan.reports.sweep.scale import Scale

#: With fewer trials a forest finds patterns in noise.
FEWEST = 10

_SEED = 0


class Importances(NamedTuple):
    """Shares of the score's variance that settings explain, in one set of trials.

    Attributes:
        when: what these trials have in common beyond the others; empty: all of them.
        trials: how many it rests on: those that are ok, each outcome once.
        shares: by the axis's name, largest first; they add up to 1.
        log: whether it is the variance of the score's logarithm.
    """

    when: str
    trials: int
    shares: dict[str, float]
    log: bool


def importances(record: Record, scale: Scale, objective: int = 0) -> list[Importances]:
    """Of the settings that all trials have; then, of settings with a condition, among the trials that meet it.

    Scores beyond the scale count as its end, so that one wild trial does not explain everything.

    Args:
        scale: of the objective.
        objective: its place.
    """
    entries = [one for one in record.ended_well if one.trial.duplicate_of is None]
    found = []
    for when in dict.fromkeys(["", *(axis.when for axis in record.axes)]):
        wanted = [axis.name for axis in record.axes if axis.when == when]
        among = [one for one in entries if not when or all(name in one.params for name in wanted)]
        if len(among) < FEWEST or (when and len(among) == len(entries)):
            continue  # if all trials meet the condition, the first rating has its settings
        axes = [axis for axis in record.axes if all(axis.name in one.params for one in among)]
        shares = _rate(among, axes, scale, objective)
        if shares:
            found.append(Importances(when, len(among), shares, scale.log))
    return found


def _rate(entries: list[Entry], axes: list[Axis], scale: Scale, objective: int) -> dict[str, float] | None:
    import optuna
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances
    from optuna.trial import create_trial

    names = [axis.name for axis in axes if len({repr(one.params[axis.name]) for one in entries}) > 1]
    scores = [scale.place(_value(one, objective)) for one in entries]
    targets = [math.log(score) if scale.log else score for score in scores]
    if len(set(targets)) < 2 or len(names) < 2:
        return None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(storage=optuna.storages.InMemoryStorage())
    for entry, target in zip(entries, targets, strict=True):
        study.add_trial(
            create_trial(
                value=target,
                params={axis.name: entry.params[axis.name] for axis in axes if axis.name in names},
                distributions={axis.name: axis.distribution for axis in axes if axis.name in names},
            )
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the forest, about few samples
        shares = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=_SEED), params=names)
    return {name: float(share) for name, share in shares.items()} if sum(shares.values()) > 0 else None


def _value(entry: Entry, objective: int) -> float:
    values = entry.trial.values
    return values[objective] if values is not None else entry.score
