"""From ``params.yaml``, an experiment's name and ``-S`` overrides to resolved settings.

Precedence, lowest first: a field's default, the section in the file, the experiment, ``-S``.
"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from gossipgan.config.settings import Settings
from gossipgan.errors import UserError

#: Keys of ``params.yaml`` beside the sections of ``Settings``.
_BESIDE_SECTIONS = ("seeds", "baseline", "experiments")


class ParamsFile(NamedTuple):
    """A checked ``params.yaml``: sections as written, and what is compared."""

    path: Path
    sections: dict[str, Any]
    experiments: dict[str, dict[str, Any]]
    seeds: tuple[int, ...]
    baseline: str | None

    def shared_settings(self, overrides: Sequence[str] = ()) -> Settings:
        """Settings of the baseline, for what is the same in every experiment: data, extractor, evaluation, tracking.

        (The sections alone need not make a whole experiment.)
        """
        return self.settings(self.baseline, overrides)

    def settings(self, experiment: str | None = None, overrides: Sequence[str] = ()) -> Settings:
        """Resolved settings of one experiment (None: the sections alone).

        Args:
            experiment: a name under ``experiments``.
            overrides: ``dotted.key=value`` each; values are read as YAML.

        Raises:
            UserError: unknown experiment, key, or a value out of type or range.
        """
        values = _copy(self.sections)
        where = str(self.path)
        if experiment is not None:
            if experiment not in self.experiments:
                raise UserError(
                    f"{where}: no experiment {experiment!r}; "
                    f"there are {', '.join(self.experiments) or 'none'}" + nearest(experiment, self.experiments)
                )
            values = _merge(values, self.experiments[experiment])
            where += f" with experiments.{experiment}"
        for override in overrides:
            key, value = parse_override(override)
            values = _merge(values, _nested(key, value))
        if overrides:
            where += f" with -S {' '.join(overrides)}"
        return _validate(values, where)

    def varied(self, experiment: str | None, values: Mapping[str, Any], where: str) -> Settings:
        """Resolved settings of an experiment with some settings replaced.

        Args:
            experiment: a name under ``experiments``; None: the sections alone.
            values: by dotted key.
            where: what an error is to begin with: the file and key that ``values`` come from.

        Raises:
            UserError: unknown experiment or key, or a value out of type or range, alone or beside the others.
        """
        merged = self.settings(experiment).model_dump(mode="json")
        for key, value in values.items():
            merged = _merge(merged, _nested(key, value))
        return _validate(merged, where)


def load_params(path: Path) -> ParamsFile:
    """Read and check a ``params.yaml``: every section and every experiment in it.

    Raises:
        UserError: in one line, with the file, the key, what is allowed and the nearest right key.
    """
    raw = read_yaml(path)
    known = (*Settings.model_fields, *_BESIDE_SECTIONS)
    for key in raw:
        if key not in known:
            raise UserError(f"{path}: unknown section {key!r}; allowed: {', '.join(known)}" + nearest(str(key), known))
    seeds = raw.get("seeds", [1])
    if not isinstance(seeds, list) or not seeds or not all(type(s) is int and s >= 0 for s in seeds):
        raise UserError(f"{path}: seeds: a list of integers of at least 0 is wanted, such as [1, 2, 3], not {seeds!r}")
    if len(set(seeds)) != len(seeds):
        raise UserError(f"{path}: seeds: each seed once, not {seeds!r}")
    experiments = raw.get("experiments", {})
    if not isinstance(experiments, dict):
        raise UserError(f"{path}: experiments: a mapping from names to overrides is wanted, not {experiments!r}")
    experiments = {str(name): overrides or {} for name, overrides in experiments.items()}
    baseline = raw.get("baseline")
    if baseline is None and experiments:
        baseline = next(iter(experiments))
    if baseline is not None and str(baseline) not in experiments:
        raise UserError(
            f"{path}: baseline: no experiment {baseline!r}; there are {', '.join(experiments) or 'none'}"
            + nearest(str(baseline), experiments)
        )
    sections = {key: value for key, value in raw.items() if key in Settings.model_fields}
    params = ParamsFile(path, sections, experiments, tuple(seeds), None if baseline is None else str(baseline))
    for name, overrides in experiments.items():
        _check_experiment(path, name, overrides)
        params.settings(name)
    if not experiments:
        params.settings()
    return params


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML 1.2 file (so that ``1e-3`` is a number) as a mapping.

    Raises:
        UserError: the file is missing, not YAML, or not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run in the project's folder or name it with --params") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    try:
        raw = YAML(typ="safe", pure=True).load(text)
        raw = _copy(raw) if isinstance(raw, dict) else raw
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}{line}: not valid YAML: {error.problem}") from None
    except YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise UserError(f"{path}: nested too deeply, or a mapping that contains itself") from None
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise UserError(f"{path}: a mapping of sections is wanted, not {type(raw).__name__}")
    return raw


def parse_override(text: str) -> tuple[str, Any]:
    """Split ``dotted.key=value``; the value is read as YAML.

    Raises:
        UserError: not of that form, or the value is not YAML.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or any(not part for part in key.strip().split(".")):
        raise UserError(f"-S {text}: dotted.key=value is wanted, such as -S training.steps=200")
    try:
        return key.strip(), YAML(typ="safe", pure=True).load(value)
    except (YAMLError, RecursionError):
        raise UserError(f"-S {text}: the value is not valid YAML") from None


#: Sections that an experiment may override: the rest is shared by all that are compared.
EXPERIMENT_SECTIONS = ("game", "optimizer", "lookahead", "averaging", "mixing", "training")


def _check_experiment(path: Path, name: str, overrides: Any) -> None:
    where = f"{path}: experiments.{name}"
    if not name.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"{where}: letters, digits, - and _ are allowed in a name")
    if not isinstance(overrides, dict):
        raise UserError(f"{where}: a mapping of sections is wanted, not {overrides!r}")
    for section in overrides:
        if section not in EXPERIMENT_SECTIONS:
            raise UserError(
                f"{where}.{section}: an experiment may override {', '.join(EXPERIMENT_SECTIONS)}; "
                "data, extractor and evaluation are one ruler for all" + nearest(str(section), EXPERIMENT_SECTIONS)
            )


def _validate(values: dict[str, Any], where: str) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{where}: {_explain(first, values)}") from None


def _explain(error: Any, values: dict[str, Any]) -> str:
    """One pydantic error as: key, what was given, what is allowed, nearest right key."""
    location = [str(part) for part in error["loc"]]
    key = ".".join(location)
    if error["type"] == "extra_forbidden":
        allowed = _fields_at(location[:-1])
        return f"unknown key {key!r}; allowed here: {', '.join(allowed)}" + nearest(location[-1], allowed)
    message = error["msg"].removeprefix("Value error, ").replace("tuple", "list")
    message = message[0].lower() + message[1:]
    if error["type"] == "value_error":
        return f"{key}.{message}" if key else message
    if error["type"] in ("model_type", "model_attributes_type"):
        return f"{key}: a mapping of {', '.join(_fields_at(location))} is wanted, not {error['input']!r}"
    return f"{key}: {message}, not {error['input']!r}"


def _fields_at(location: Sequence[str]) -> list[str]:
    model: type[BaseModel] = Settings
    for part in location:
        field = model.model_fields.get(part)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return []
        model = field.annotation
    return list(model.model_fields)


def nearest(wrong: str, right: Sequence[str] | Mapping[str, Any]) -> str:
    """``; did you mean 'right'?``, to end an error with; nothing where no name comes near."""
    close = difflib.get_close_matches(wrong, list(right), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _nested(dotted: str, value: Any) -> dict[str, Any]:
    first, _, rest = dotted.partition(".")
    return {first: _nested(rest, value) if rest else value}


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _copy(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, dict) else value for key, value in values.items()}
