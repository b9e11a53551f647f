"""Who is run again, on which seeds and for how long, so that what is claimed of a winner is no luck of the search.

The score that a trial was chosen by is too good: it is the best of many. So the best few are run again

- on fresh seeds: those that follow the largest seed that the params file or a sweep has used;
- at the full budget: with the iterations, and the distances of journal entries, of the experiment that the space
  varies (``params.yaml``), whatever the space fixed for its trials;
- at equal images: all see exactly as many pictures as the sweep's best does. Whoever sees others in an iteration
  takes more iterations or fewer; an experiment is first given the trials' batch, as a sweep's own baselines are.

The baseline is the best trial of another sweep, or one of the sweep's own baselines as it stands: the one that scored
best in the sweep, so that the choice was made before the fresh seeds.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from math import gcd
from typing import Any, NamedTuple

from gossipgan.config import ParamsFile, Settings, fingerprint, flatten
from gossipgan.errors import UserError
from gossipgan.sweeps.search import PACE, Sweep, load_sweep
from gossipgan.sweeps.study import StudyStorage, SweepView, check_unchanged, view


class ConfirmOptions(NamedTuple):
    """What is to be confirmed.

    Attributes:
        sweep: its name.
        top: how many of its best settings.
        seeds: how many fresh seeds.
        against: the sweep that tuned the baseline; None: the sweep's own baselines.
        steps: iterations of the sweep's best, instead of its experiment's.
        workers: runs at a time.
        url: of the storage.
        devices: what runs see, such as ``0`` or ``0,1``, dealt to the workers in turn; empty: all see all GPUs.
    """

    sweep: str
    top: int
    seeds: int
    against: str | None
    steps: int | None
    workers: int
    url: str
    devices: tuple[str, ...] = ()


class Arm(NamedTuple):
    """Settings that are run on every fresh seed.

    Attributes:
        name: ``trial-N``; of another sweep ``SWEEP/trial-N``; or an experiment's.
        experiment: what it varies; None: the sections of the params file alone.
        proposed: what a sweep proposed, by dotted key, without the length of its trials; empty for an experiment.
        values: what replaces the experiment's settings, by dotted key; ``proposed`` is in it.
        settings: with these values.
        searched: its score in the sweep; None where it has none.
    """

    name: str
    experiment: str | None
    proposed: dict[str, Any]
    values: dict[str, Any]
    settings: Settings
    searched: float | None


class Tuning(NamedTuple):
    """How much went into the choice of settings.

    Attributes:
        trials: settings tried.
        seconds: of device time, all trials together.
    """

    trials: int
    seconds: float


class Plan(NamedTuple):
    """What is to be run; see ``Confirmation``.

    Attributes:
        sweep: whose best settings are run.
        extractors: hash of the extractor that each of the sweeps was judged by, if that is known.
    """

    metric: str
    minimize: bool
    seeds: tuple[int, ...]
    images: int
    candidates: tuple[Arm, ...]
    baselines: tuple[Arm, ...]
    candidates_tuning: Tuning
    baseline_tuning: Tuning
    sweep: Sweep
    extractors: dict[str, str | None]


class _Source(NamedTuple):
    """A sweep as its file says and as it went."""

    sweep: Sweep
    view: SweepView
    extractor: str | None


def plan_confirmation(options: ConfirmOptions, params: ParamsFile, data_digest: str) -> Plan:
    """Who is run, on which seeds, and for how long.

    Raises:
        UserError: there is no such sweep, or nothing to confirm, nothing to hold it against, or no way to equal images.
    """
    if options.against == options.sweep:
        raise UserError(f"--against {options.against}: that is the sweep itself; name the one that tuned the baseline")
    mine = _source(options.sweep, options.url, params, data_digest)
    other = None if options.against is None else _source(options.against, options.url, params, data_digest)
    sweep = mine.sweep
    if sweep.objectives[0].metric == "bytes":
        raise UserError(
            f"{sweep.path}: objectives: bytes are the same on every seed; put what is to be confirmed first"
        )
    experiment = flatten(sweep.base.model_dump(mode="json"))
    pace = {key: experiment[key] for key in PACE}
    if options.steps is not None:
        pace["training.steps"] = options.steps
    candidates = _best(mine, options.top, pace)
    if other is None:
        baselines = _own_baselines(mine, pace)
        tuning = Tuning(len(baselines), sum(one.seconds for one in mine.view.baselines))
    else:
        if (other.view.metric, other.view.minimize) != (mine.view.metric, mine.view.minimize):
            raise UserError(
                f"--against {other.view.name}: is judged by {other.view.metric}, and {mine.view.name} by "
                f"{mine.view.metric}; name a sweep over the same objective"
            )
        baselines = [one._replace(name=f"{other.view.name}/{one.name}") for one in _best(other, 1, pace)]
        tuning = _tuning(other.view)
    images = pace["training.steps"] * _pictures(candidates[0].settings)
    return Plan(
        metric=mine.view.metric,
        minimize=mine.view.minimize,
        seeds=_fresh_seeds([mine] if other is None else [mine, other], options.seeds),
        images=images,
        candidates=tuple(_at_images(params, one, images, candidates[0]) for one in candidates),
        baselines=tuple(_at_images(params, one, images, candidates[0]) for one in baselines),
        candidates_tuning=_tuning(mine.view),
        baseline_tuning=tuning,
        sweep=sweep,
        extractors={one.view.name: one.extractor for one in (mine, other) if one is not None},
    )


def _source(name: str, url: str, params: ParamsFile, data_digest: str) -> _Source:
    import optuna

    root = params.path.parent
    with closing(StudyStorage(url, create=False)) as storage:
        seen = view(storage, name, root.resolve() / "work" / "sweeps")
        sweep = load_sweep(root / seen.file, params)
        check_unchanged(storage, sweep, name, data_digest)
        extractor = optuna.load_study(study_name=name, storage=storage.optuna).user_attrs.get("extractor")
    return _Source(sweep, seen, extractor)


def _best(source: _Source, top: int, pace: Mapping[str, Any]) -> list[Arm]:
    """The best trials that are different runs at the full budget, best first."""
    sweep, seen = source.sweep, source.view
    ended = [trial for trial in seen.trials if trial.state == "ok" and trial.score is not None]
    found: dict[str, Arm] = {}
    for trial in sorted(ended, key=lambda trial: (trial.score or 0.0) * (1 if seen.minimize else -1)):
        proposed = {key: value for key, value in trial.settings.items() if key not in pace}
        values = {**proposed, **pace}
        settings = sweep.params.varied(sweep.experiment, values, f"{sweep.path}: {trial.name} at the full budget")
        arm = Arm(trial.name, sweep.experiment, proposed, values, settings, trial.score)
        found.setdefault(fingerprint(settings, 0, ""), arm)
        if len(found) == top:
            break
    if not found:
        raise UserError(f"{seen.name}: no trial has ended well yet")
    return list(found.values())


def _own_baselines(source: _Source, pace: Mapping[str, Any]) -> list[Arm]:
    """The sweep's baselines as they stand, the best by the sweep first."""
    sweep, seen = source.sweep, source.view
    if not sweep.baselines:
        raise UserError(
            f"{sweep.path}: baselines: there are none to hold the best against; "
            "name the sweep that tuned the baseline with --against"
        )
    scores = {trial.name: trial.score for trial in seen.baselines if trial.state == "ok"}
    found = []
    for name in sweep.baselines:
        # As in the sweep: with the batch and whatever else it fixed of training, but for the length.
        training = sweep.baseline_settings(name).training.model_dump(mode="json")
        values = {**{f"training.{key}": value for key, value in training.items()}, **pace}
        settings = sweep.params.varied(name, values, f"{sweep.path}: baselines: {name} at the full budget")
        found.append(Arm(name, name, {}, values, settings, scores.get(f"baseline-{name}")))
    sign = 1 if seen.minimize else -1
    return sorted(found, key=lambda arm: (arm.searched is None, sign * (arm.searched or 0.0)))


def _pictures(settings: Settings) -> int:
    """Real pictures that all learners of a run see in an iteration."""
    return settings.optimizer.batches * settings.training.batch * settings.mixing.learners


def _at_images(params: ParamsFile, arm: Arm, images: int, best: Arm) -> Arm:
    """An arm with as many iterations as it takes to see so many pictures.

    Raises:
        UserError: no number of iterations does.
    """
    mine, theirs = _pictures(arm.settings), _pictures(best.settings)
    steps, left = divmod(images, mine)
    if left:
        raise UserError(
            f"{arm.name}: sees {mine} pictures an iteration and {best.name} {theirs}, so that it cannot see exactly "
            f"the {images} of {images // theirs} iterations; give --steps a multiple of {mine // gcd(mine, theirs)}"
        )
    values = {**arm.values, "training.steps": steps}
    where = f"{params.path}: {arm.name} with {steps} iterations, for equal images"
    return arm._replace(values=values, settings=params.varied(arm.experiment, values, where))


def _fresh_seeds(sources: Sequence[_Source], count: int) -> tuple[int, ...]:
    """Seeds that neither the params file nor any of the sweeps has used: those after the largest that is used."""
    used = set(sources[0].sweep.params.seeds)
    for one in sources:
        used.update(one.sweep.seeds)
        used.update(int(seed) for trial in (*one.view.trials, *one.view.baselines) for seed in trial.scores)
    return tuple(range(max(used) + 1, max(used) + 1 + count))


def _tuning(seen: SweepView) -> Tuning:
    """Trials that a sweep has begun, warm starts counted, and their time."""
    return Tuning(sum(trial.state != "waiting" for trial in seen.trials), seen.seconds)
