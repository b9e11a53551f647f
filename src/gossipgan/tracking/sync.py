"""All of a project's runs into MLflow."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.config import TrackingSettings
from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory
from gossipgan.tracking.dataset import DatasetInfo
from gossipgan.tracking.pipeline import pipeline_parent
from gossipgan.tracking.run import mirror_run


class Synced(NamedTuple):
    """What a sync did.

    Attributes:
        parent_id: MLflow's id of the run for the pipeline; None where there were no runs or no MLflow.
        written: names of runs that were shown or shown anew, such as ``lookahead/seed-1``.
        unchanged: names of runs that MLflow showed already.
        unfinished: names of run directories without a result.
        warning: one line where MLflow could not be written to.
    """

    parent_id: str | None
    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    unfinished: tuple[str, ...]
    warning: str | None


def sync(
    root: Path,
    *,
    tracking: TrackingSettings,
    experiments: Collection[str] | None = None,
    seeds: Collection[int] | None = None,
    dataset: DatasetInfo | None = None,
) -> Synced:
    """Show every run under ``root/runs`` in MLflow, and the comparison above them.

    It may be called at any time and any number of times. It stops at the first sign that MLflow cannot be
    written to, so that a server that is away costs seconds, however many runs there are.

    Args:
        root: the folder of ``params.yaml``.
        tracking: where to; with ``mlflow: false`` nothing is done.
        experiments, seeds: only these; None: all.
        dataset: name, digest and counts of the data; None: as the runs' settings have it.

    Raises:
        UserError: a file of a run is damaged.
    """
    ended: dict[str, RunDirectory] = {}
    unfinished: list[str] = []
    if not tracking.mlflow:
        return Synced(None, (), (), (), None)
    for path in sorted((root / "runs").glob("*/seed-*/"), key=_natural):
        experiment, seed = path.parent.name, _seed(path)
        if (experiments is not None and experiment not in experiments) or (seeds is not None and seed not in seeds):
            continue
        run, name = RunDirectory(path), f"{experiment}/{path.name}"
        if run.settings.exists() and run.result.exists():
            ended[name] = run
        else:
            unfinished.append(name)
    if not ended:
        return Synced(None, (), (), tuple(unfinished), None)

    identities = {name: run.read_settings()[1] for name, run in ended.items()}
    parent_id, _, warning = pipeline_parent(
        {name: identity["fingerprint"] for name, identity in identities.items()},
        tracking=tracking,
        root=root,
        reports=root / "reports",
    )
    written: list[str] = []
    unchanged: list[str] = []
    extractor = _read_json(root / "extractor" / "extractor.json")
    for name, run in ended.items():
        if warning is not None:
            break
        experiment, seed = run.path.parent.name, _seed(run.path)
        fingerprint = str(identities[name]["fingerprint"])
        live = RunDirectory(root / "work" / experiment / run.path.name / fingerprint[:12])
        mirrored = mirror_run(
            run,
            _read_json(root / "metrics" / experiment / f"{run.path.name}.json"),
            tracking=tracking,
            root=root,
            experiment=experiment,
            seed=seed,
            live=live if live.path.exists() else None,
            dataset=dataset,
            extractor=extractor,
            parent_id=parent_id,
        )
        warning = mirrored.warning
        if warning is None:
            (written if mirrored.written else unchanged).append(name)
    return Synced(parent_id, tuple(written), tuple(unchanged), tuple(unfinished), warning)


def _seed(path: Path) -> int:
    number = path.name.removeprefix("seed-")
    if not number.isdecimal():
        raise UserError(f"{path}: seed-<number> is wanted as a run directory's name")
    return int(number)


def _natural(path: Path) -> tuple[str, int]:
    return path.parent.name, _seed(path)


def _read_json(path: Path) -> Mapping[str, Any]:
    """A JSON file's content; nothing where it does not exist."""
    if not path.exists():
        return {}
    try:
        content: Mapping[str, Any] = json.loads(path.read_text())
    except ValueError:
        raise UserError(f"{path}: not valid JSON; run the stage that writes it again") from None
    return content
