"""All of a project's runs into MLflow."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.config import TrackingSettings
from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory
from gossipgan.tracking.pipeline import pipeline_parent
from gossipgan.tracking.run import mirror_run
from gossipgan.tracking.store import Mirrored


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
    others: bool = False,
) -> Synced:
    """Show the runs under ``root/runs`` in MLflow, and the comparison above them.

    It may be called at any time and any number of times. It stops at the first sign that MLflow cannot be
    written to, so that a server that is away costs seconds, however many runs there are.

    Args:
        root: the folder of ``params.yaml``.
        tracking: where to; with ``mlflow: false`` nothing is done.
        experiments, seeds: what is compared; None: all.
        others: show also the runs that are not compared, by themselves.

    Raises:
        UserError: a file of a run is damaged.
    """
    compared: dict[str, RunDirectory] = {}
    beside: dict[str, RunDirectory] = {}
    unfinished: list[str] = []
    if not tracking.mlflow:
        return Synced(None, (), (), (), None)
    for path in sorted((root / "runs").glob("*/seed-*/"), key=_natural):
        experiment, seed = path.parent.name, _seed(path)
        chosen = (experiments is None or experiment in experiments) and (seeds is None or seed in seeds)
        if not chosen and not others:
            continue
        run, name = RunDirectory(path), f"{experiment}/{path.name}"
        if run.settings.exists() and run.result.exists():
            (compared if chosen else beside)[name] = run
        else:
            unfinished.append(name)

    parent_id, warning = None, None
    if compared:
        parent_id, _, warning = pipeline_parent(
            {name: run.read_settings()[1]["fingerprint"] for name, run in compared.items()},
            tracking=tracking,
            root=root,
            reports=root / "reports",
        )
    written: list[str] = []
    unchanged: list[str] = []
    for name, run in {**compared, **beside}.items():
        if warning is not None:
            break
        mirrored = mirror_published(
            run, tracking=tracking, root=root, parent_id=parent_id if name in compared else None
        )
        warning = mirrored.warning
        if warning is None:
            (written if mirrored.written else unchanged).append(name)
    return Synced(parent_id, tuple(written), tuple(unchanged), tuple(unfinished), warning)


def mirror_published(
    run: RunDirectory, *, tracking: TrackingSettings, root: Path, parent_id: str | None = None
) -> Mirrored:
    """Show one of the runs under ``root/runs``, with the scores that its evaluation has found.

    Args:
        parent_id: MLflow run under which this one is nested; None: it stays where it is.

    Raises:
        UserError: a file of the run is damaged.
    """
    experiment, seed = run.path.parent.name, _seed(run.path)
    fingerprint = str(run.read_settings()[1]["fingerprint"])
    live = RunDirectory(root / "work" / experiment / run.path.name / fingerprint[:12])
    return mirror_run(
        run,
        _read_json(root / "metrics" / experiment / f"{run.path.name}.json"),
        tracking=tracking,
        root=root,
        experiment=experiment,
        seed=seed,
        live=live if live.path.exists() else None,
        extractor=_read_json(root / "extractor" / "extractor.json"),
        parent_id=parent_id,
    )


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
