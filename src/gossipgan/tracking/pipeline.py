"""An invocation of the pipeline as the MLflow run under which its runs are nested."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gossipgan.config import TrackingSettings
from gossipgan.tracking.commit import commit_tags
from gossipgan.tracking.content import content_digest
from gossipgan.tracking.run import PARENT_TAG, log_metrics
from gossipgan.tracking.store import (
    Mirrored,
    Store,
    open_store,
    quiet_environment,
    tracking_failures,
    warning_line,
)

#: What a comparison consists of, in the folder ``reports``.
_FILES = ("comparison.json", "comparison.md", "comparison.html", "curves.csv")


def pipeline_parent(
    fingerprints: Mapping[str, str], *, tracking: TrackingSettings, root: Path, reports: Path | None = None
) -> Mirrored:
    """Show an invocation of the pipeline in MLflow, once.

    It is found again by a digest of its runs' names and fingerprints: a pipeline that came to the same
    runs is the same view. Where the comparison has changed, the view is made anew, and the runs nested
    under the old one are moved to it. Metrics: ``<experiment>/<metric>_mean`` and ``_std`` (over seeds),
    and ``floor/<metric>``.

    Args:
        fingerprints: fingerprint of every run by its name, such as ``lookahead/seed-1``.
        tracking: where to.
        root: the folder of ``params.yaml``.
        reports: folder of ``comparison.json``; None or without that file: nothing is compared yet.

    Returns:
        The id, or a warning line if MLflow cannot be written to: never an exception for that.
    """
    quiet_environment()
    try:
        with open_store(tracking, root) as store:
            return _mirror(store, fingerprints, root, reports)
    except tracking_failures() as error:
        return Mirrored(None, False, warning_line(error, tracking, root))


def _mirror(store: Store, fingerprints: Mapping[str, str], root: Path, reports: Path | None) -> Mirrored:
    from mlflow.entities import Metric

    client = store.client
    pipeline = hashlib.sha256(json.dumps(dict(fingerprints), sort_keys=True).encode()).hexdigest()
    files = [(name, reports / name) for name in _FILES] if reports is not None else []
    content = content_digest(files, sorted(fingerprints))
    old: list[str] = []
    for found in store.find({"gossipgan.role": "pipeline", "gossipgan.pipeline": pipeline}):
        if found.data.tags.get("gossipgan.content") == content:
            return Mirrored(found.info.run_id, False, None)
        old.append(found.info.run_id)

    run = client.create_run(
        store.experiment_id,
        tags={
            "gossipgan.role": "pipeline",
            "gossipgan.pipeline": pipeline,
            "mlflow.source.name": "gossipgan",
            **commit_tags(root),
        },
        run_name=f"comparison {pipeline[:8]}",
    )
    run_id: str = run.info.run_id
    for name, path in files:
        if path.exists():
            client.log_artifact(run_id, str(path))
            if name == "comparison.json":
                time = run.info.start_time
                summary = _summary(json.loads(path.read_text()))
                log_metrics(store, run_id, [Metric(key, value, time, 0) for key, value in summary.items()])
    if reports is not None and (reports / "plots").is_dir():
        client.log_artifacts(run_id, str(reports / "plots"), "plots")
    for parent in old:
        for child in store.find({PARENT_TAG: parent}):
            client.set_tag(child.info.run_id, PARENT_TAG, run_id)
        client.delete_run(parent)
    client.set_terminated(run_id)
    client.set_tag(run_id, "gossipgan.content", content)
    return Mirrored(run_id, True, None)


def _summary(comparison: Mapping[str, Any]) -> dict[str, float]:
    """Means, standard deviations and floors of a ``comparison.json``."""
    values: dict[str, float | None] = {}
    for experiment, entry in comparison["experiments"].items():
        for metric, spread in entry["metrics"].items():
            values[f"{experiment}/{metric}_mean"] = spread["mean"]
            values[f"{experiment}/{metric}_std"] = spread["std"]
    for metric, value in comparison["floor"].items():
        values[f"floor/{metric}"] = value
    return {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
