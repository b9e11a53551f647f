"""A sweep's winner as an experiment of ``params.yaml``."""

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from gossipgan.config import ParamsFile, fingerprint, load_params
from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory, write_atomic
from gossipgan.sweeps.search import Sweep
from gossipgan.sweeps.study.view import TrialView


def export(sweep: Sweep, trial: TrialView, experiment: str) -> str:
    """Write a trial into the params file, comments kept, as what it overrides in the sections.

    The file as it will be is read and checked first: the experiment must be the trial's runs, to the fingerprint.

    Returns:
        The name of the experiment.

    Raises:
        UserError: there is an experiment of that name with other settings, or the name cannot be one.
    """
    params = sweep.params
    if not experiment.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"--as {experiment}: letters, digits, - and _ are allowed in a name")
    overrides = _overrides(params, sweep.experiment, trial.settings)
    if experiment in params.experiments:
        if params.settings(experiment) == sweep.trial_settings(trial.settings):
            return experiment
        raise UserError(f"{params.path}: experiments.{experiment}: is there already; give another name with --as")
    yaml = YAML()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    content = yaml.load(params.path.read_text(encoding="utf-8"))
    experiments = content.setdefault("experiments", CommentedMap())
    _keep_apart(experiments)
    experiments[experiment] = _flow(overrides)
    text = io.StringIO()
    yaml.dump(content, text)
    _check(sweep, trial, experiment, text.getvalue())
    write_atomic(params.path, text.getvalue())
    return experiment


def _overrides(params: ParamsFile, base: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """The base experiment's overrides and the trial's, by section."""
    overrides: dict[str, Any] = {} if base is None else _copy(params.experiments[base])
    for dotted, value in settings.items():
        *path, key = dotted.split(".")
        section = overrides
        for name in path:
            section = section.setdefault(name, {})
        section[key] = value
    return overrides


def _check(sweep: Sweep, trial: TrialView, experiment: str, text: str) -> None:
    scratch = sweep.params.path.with_name(f".{sweep.params.path.name}.export.tmp")
    try:
        write_atomic(scratch, text)
        settings = load_params(scratch).settings(experiment)
    finally:
        scratch.unlink(missing_ok=True)
    for seed in sweep.seeds:
        run = RunDirectory(trial.folder / f"seed-{seed}")
        if not run.settings.exists():
            continue  # made on another machine, or deleted since
        _, identity = run.read_settings()
        if fingerprint(settings, seed, identity["data_digest"]) != identity["fingerprint"]:
            raise UserError(
                f"{sweep.params.path}: would not give {trial.name} again: settings have changed since it was run; "
                "put them back, or begin the sweep anew"
            )


def _keep_apart(experiments: CommentedMap) -> None:
    """Let a new experiment begin on a line of its own, whatever comment or blank line ends the last."""
    if experiments.fa.flow_style():
        experiments.fa.set_block_style()


def _flow(overrides: dict[str, Any]) -> CommentedMap:
    """Sections one a line, and what each holds in braces, as people write experiments."""
    mapping = CommentedMap()
    for section, values in overrides.items():
        mapping[section] = _braces(values)
    return mapping


def _braces(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    mapping = CommentedMap({key: _braces(one) for key, one in value.items()})
    mapping.fa.set_flow_style()
    return mapping


def _copy(values: dict[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, dict) else value for key, value in values.items()}
