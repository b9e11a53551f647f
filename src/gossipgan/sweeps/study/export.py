"""A sweep's winner as an experiment of ``params.yaml``."""

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from gossipgan.config import ParamsFile, fingerprint, load_params
from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory, write_atomic
from gossipgan.sweeps.search import PACE, Sweep
from gossipgan.sweeps.study.view import TrialView

#: Settings that a trial has for the sweep's sake: its length, and the threads that it may have beside other trials.
_OF_TRIALS = (*PACE, "training.threads")


def export(sweep: Sweep, trial: TrialView, experiment: str, *, full: bool = False) -> tuple[str, ...]:
    """Write a trial into the params file, comments kept, as what it overrides in the sections.

    The file as it will be is read and checked first: the experiment must be the trial's runs, to the fingerprint, but
    for what is left out.

    Args:
        full: leave out how long the trials of the sweep are, what is noted on the way, and how many threads they
            have: the experiment is run as long as the one that the space varies.

    Returns:
        Dotted keys of the trial's settings that are left out.

    Raises:
        UserError: there is an experiment of that name with other settings, or the name cannot be one.
    """
    params = sweep.params
    if not experiment.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"--as {experiment}: letters, digits, - and _ are allowed in a name")
    left_out = {key: value for key, value in trial.settings.items() if full and key in _OF_TRIALS}
    kept = {key: value for key, value in trial.settings.items() if key not in left_out}
    overrides = _overrides(params, sweep.experiment, kept)
    if experiment in params.experiments:
        if params.settings(experiment) == sweep.trial_settings(kept):
            return tuple(left_out)
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
    _check(sweep, trial, experiment, text.getvalue(), left_out)
    write_atomic(params.path, text.getvalue())
    return tuple(left_out)


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


def _check(sweep: Sweep, trial: TrialView, experiment: str, text: str, left_out: dict[str, Any]) -> None:
    """See that the text's experiment, with what it leaves out, is the trial."""
    scratch = sweep.params.path.with_name(f".{sweep.params.path.name}.export.tmp")
    try:
        write_atomic(scratch, text)
        where = f"{sweep.params.path}: experiments.{experiment}"
        settings = load_params(scratch).varied(experiment, left_out, where)
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
