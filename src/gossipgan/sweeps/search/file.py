"""A sweep file, read and checked against the settings' schema before anything starts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from gossipgan.config import EXPERIMENT_SECTIONS, ParamsFile, Settings, flatten, nearest, read_yaml
from gossipgan.errors import UserError
from gossipgan.sweeps.search.parameter import Parameter, Scalar
from gossipgan.sweeps.search.settings import Budget, Objective, Pruner, Sampler, SweepSettings
from gossipgan.sweeps.search.space import Space

_PARTS: dict[str, type[BaseModel]] = {
    "objective": Objective,
    "objectives": Objective,
    "sampler": Sampler,
    "pruner": Pruner,
    "budget": Budget,
}


class Sweep(NamedTuple):
    """A checked sweep file and the params file that it stands on.

    Attributes:
        name: the file's, without its ending.
        settings: the file's content.
        experiment: what the space varies; None: the sections of the params file alone.
        base: its settings.
        seeds: of every trial's runs.
        baselines: names of experiments that are run beside the trials.
        enqueued: Optuna's parameters of what is tried first.
        objectives: what trials are judged by, one or several, each with its generator.
    """

    name: str
    path: Path
    settings: SweepSettings
    params: ParamsFile
    experiment: str | None
    base: Settings
    space: Space
    seeds: tuple[int, ...]
    baselines: tuple[str, ...]
    enqueued: tuple[dict[str, Scalar], ...]
    objectives: tuple[Objective, ...]

    def trial_settings(self, values: Mapping[str, Scalar]) -> Settings:
        """Settings of a proposal.

        Raises:
            UserError: values that do not go together.
        """
        given = ", ".join(f"{key}={value!r}" for key, value in values.items())
        return self.params.varied(self.experiment, values, f"{self.path}: space: with {given}")

    def baseline_settings(self, name: str) -> Settings:
        """Settings of a baseline, at the budget of the trials: as many iterations, and as many pictures in each."""
        fixed = {
            key: one.value
            for key, one in self.settings.space.items()
            if "value" in one.model_fields_set and not one.when
        }
        values = {key: value for key, value in fixed.items() if key.startswith("training.")}
        batch, learners = fixed.get("training.batch"), fixed.get("mixing.learners", self.base.mixing.learners)
        if isinstance(batch, int) and isinstance(learners, int):
            # As many pictures an iteration as the learners of a trial see together.
            values["training.batch"] = batch * learners // self.params.settings(name).mixing.learners
        return self.params.varied(name, values, f"{self.path}: baselines: {name}")

    def most(self, key: str) -> int:
        """The most that a whole number among the settings may be."""
        base = int(flatten(self.base.model_dump(mode="json"))[key])
        searched = self.settings.space.get(key)
        if searched is None:
            return base
        given = [int(end) for end in (searched.value, *searched.ends()) if isinstance(end, int | float)]
        return max([*given, base] if searched.when or not given else given)

    @property
    def has_curve(self) -> bool:
        """Whether runs tell the objective, the only one, again and again as they train."""
        return len(self.objectives) == 1 and self._on_curve(self.objectives[0])

    @property
    def from_journal(self) -> bool:
        """Whether runs tell all objectives in their journals."""
        return all(one.metric == "bytes" or self._on_curve(one) for one in self.objectives)

    def _on_curve(self, objective: Objective) -> bool:
        return objective.metric == "fid" and objective.iterate == self.base.evaluation.headline


def load_sweep(path: Path, params: ParamsFile) -> Sweep:
    """Read and check a sweep file.

    Raises:
        UserError: in one line, with the file, the key, what is allowed and the nearest right key.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file; a sweep file is wanted, such as sweeps/lookahead.yaml")
    name = path.stem
    if not name.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"{path}: letters, digits, - and _ are allowed in a sweep's name")
    try:
        settings = SweepSettings.model_validate(read_yaml(path))
    except ValidationError as error:
        raise UserError(f"{path}: {_explain(error.errors()[0])}") from None
    experiment = settings.experiment or params.baseline
    named = [*([experiment] if experiment else []), *(settings.baselines or ())]
    named += [one for one in settings.enqueue if isinstance(one, str)]
    for one in named:
        if one not in params.experiments:
            raise UserError(
                f"{path}: no experiment {one!r} in {params.path}; there are {', '.join(params.experiments) or 'none'}"
                + nearest(one, params.experiments)
            )
    base = params.settings(experiment)
    flat = flatten(base.model_dump(mode="json"))
    for key, parameter in settings.space.items():
        _check_keys(path, key, parameter, flat)
    try:
        space = Space(settings.space, flat)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    baselines = settings.baselines
    if baselines is None:
        baselines = () if params.baseline is None else (params.baseline,)
    seeds = settings.seeds or params.seeds[:1]
    objectives = tuple(_with_iterate(one, base) for one in settings.objectives or (settings.objective,))
    sweep = Sweep(name, path, settings, params, experiment, base, space, seeds, baselines, (), objectives)
    for objective in objectives:
        _check_objective(sweep, objective)
    if not sweep.has_curve and settings.pruner.kind != "none":
        raise UserError(
            f"{path}: pruner.kind: curves show fid of {base.evaluation.headline} alone, and so does a pruner; "
            f"use none, or make that the objective"
        )
    _try_out(sweep)
    for baseline in baselines:
        _check_iterates(sweep, sweep.baseline_settings(baseline), f"baselines: {baseline}")
    if settings.sampler.kind == "grid" and space.grid() is None:
        raise UserError(f"{path}: sampler: grid needs finitely many values; give step to every float, or use tpe")
    return sweep._replace(enqueued=tuple(_enqueued(sweep, one) for one in settings.enqueue))


def _check_keys(path: Path, key: str, one: Parameter, flat: Mapping[str, Any]) -> None:
    where = f"{path}: space.{key}"
    if key not in flat:
        raise UserError(f"{where}: no such setting" + nearest(key, flat))
    if key.partition(".")[0] not in EXPERIMENT_SECTIONS:
        raise UserError(
            f"{where}: a sweep may vary {', '.join(EXPERIMENT_SECTIONS)}; "
            "data, extractor and evaluation are one ruler for all"
        )
    for word, others in (("same_as", [one.same_as]), ("ratio_of", [one.ratio_of]), ("when", list(one.when))):
        for other in others:
            if other is not None and other not in flat:
                raise UserError(f"{where}.{word}: no setting {other!r}" + nearest(other, flat))
    if one.ratio_of is not None and not isinstance(flat[one.ratio_of], int | float):
        raise UserError(f"{where}.ratio_of: {one.ratio_of} is no number")


def _with_iterate(objective: Objective, base: Settings) -> Objective:
    """An objective that says which generator is judged."""
    if objective.metric == "bytes" or objective.iterate is not None:
        return objective
    return objective.model_copy(update={"iterate": base.evaluation.headline})


def _check_objective(sweep: Sweep, objective: Objective) -> None:
    evaluation = sweep.base.evaluation
    where = f"{sweep.path}: objective" if len(sweep.objectives) == 1 else f"{sweep.path}: objectives"
    if objective.metric == "bytes":
        return
    kind = "prc" if objective.metric in ("precision", "recall") else objective.metric
    if kind not in evaluation.metrics:
        raise UserError(
            f"{where}.metric: {objective.metric} is not measured; "
            f"evaluation.metrics has {', '.join(evaluation.metrics)}"
        )
    if objective.iterate not in evaluation.iterates:
        raise UserError(
            f"{where}.iterate: {objective.iterate} is not scored; evaluation.iterates has "
            f"{', '.join(evaluation.iterates)}"
        )


def _check_iterates(sweep: Sweep, settings: Settings, where: str) -> None:
    for objective in sweep.objectives:
        if objective.iterate is not None and objective.iterate not in settings.iterates:
            raise UserError(
                f"{sweep.path}: {where}: has no {objective.iterate} iterate to be judged by; it has "
                f"{', '.join(settings.iterates)}"
            )


def _try_out(sweep: Sweep) -> None:
    """Check the settings of many proposals, so that a combination that cannot be is found now."""
    for values in sweep.space.tries():
        given = ", ".join(f"{key}={value!r}" for key, value in values.items())
        _check_iterates(sweep, sweep.trial_settings(values), f"space: with {given}")


def _enqueued(sweep: Sweep, one: str | dict[str, Scalar]) -> dict[str, Scalar]:
    where = f"{sweep.path}: enqueue: {one if isinstance(one, str) else dict(one)}"
    if isinstance(one, str):
        values = flatten(sweep.params.settings(one).model_dump(mode="json"))
    else:
        values = dict(one)
        for key in values:
            if key not in sweep.settings.space:
                raise UserError(f"{where}: {key} is not in the space" + nearest(key, sweep.settings.space))
    try:
        return sweep.space.params_of(values)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _explain(error: Any) -> str:
    """One pydantic error as: key, what was given, what is allowed, nearest right key."""
    location = [str(part) for part in error["loc"]]
    key = ".".join(location)
    if error["type"] == "extra_forbidden":
        allowed = _allowed(location[:-1])
        return f"unknown key {key!r}; allowed here: {', '.join(allowed)}" + nearest(location[-1], allowed)
    message = error["msg"].removeprefix("Value error, ").replace("tuple", "list")
    message = message[0].lower() + message[1:]
    if error["type"] == "missing":
        return f"{key}: is missing"
    if error["type"] == "value_error":
        return f"{key}: {message}" if key else message
    return f"{key}: {message}, not {error['input']!r}"


def _allowed(location: Sequence[str]) -> list[str]:
    if not location:
        model: type[BaseModel] = SweepSettings
    elif location[0] == "space":
        model = Parameter
    else:
        model = _PARTS[location[0]]
    return [field.alias or name for name, field in model.model_fields.items()]
