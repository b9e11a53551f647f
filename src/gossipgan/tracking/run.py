"""One run directory as one MLflow run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from gossipgan.config import Settings, TrackingSettings, flatten
from gossipgan.runs import RunDirectory
from gossipgan.tracking.commit import commit_tags
from gossipgan.tracking.content import content_digest
from gossipgan.tracking.dataset import DatasetInfo
from gossipgan.tracking.method import describe_method
from gossipgan.tracking.series import METRICS_AT_ONCE, finals, read_clock, series
from gossipgan.tracking.spectrum import read_spectrum, spectrum_metrics
from gossipgan.tracking.store import (
    Mirrored,
    Store,
    open_store,
    quiet_environment,
    tracking_failures,
    warning_line,
    without_password,
)

#: MLflow takes so many parameters in one call.
_PARAMS_AT_ONCE = 100

PARENT_TAG = "mlflow.parentRunId"


class EndedRun(NamedTuple):
    """A run directory that holds a run that has ended, and its small files."""

    directory: RunDirectory
    settings: Settings
    identity: Mapping[str, Any]
    result: Mapping[str, Any]

    @classmethod
    def read(cls, run: RunDirectory) -> Self:
        """Read them.

        Raises:
            UserError: the directory does not hold a run that has ended.
        """
        settings, identity = run.read_settings()
        return cls(run, settings, identity, run.read_result())


def mirror_run(
    run: RunDirectory,
    metrics: Mapping[str, float | str],
    *,
    tracking: TrackingSettings,
    root: Path,
    experiment: str,
    seed: int,
    live: RunDirectory | None = None,
    extractor: Mapping[str, Any] | None = None,
    parent_id: str | None = None,
) -> Mirrored:
    """Show a run that has ended in MLflow, once.

    The view is found again by the run's fingerprint and its experiment's name. Where it is complete and
    shows the same files, it is kept (and only moved under ``parent_id``); where it is older or was cut
    short, it is deleted, which MLflow's pages then hide, and made anew: so a chart never mixes two
    writings, and nothing appears twice. One that is made anew stays where it was nested. A diverged run has status
    FAILED.

    Args:
        run: the run directory; ``settings.yaml``, ``journal.jsonl`` and ``result.json`` must be in it.
        metrics: what the evaluation found, by metric name; text values are left to tags and artifacts.
        tracking: where to.
        root: the folder of ``params.yaml``.
        experiment, seed: which run of the pipeline this is.
        live: where ``clock.jsonl`` and ``environment.json`` are, if elsewhere and still there.
        extractor: what is known of the feature extractor, such as its held-out accuracy.
        parent_id: MLflow run under which this one is nested.

    Returns:
        The id, or a warning line if MLflow cannot be written to: never an exception for that.

    Raises:
        UserError: the directory does not hold a run that has ended.
    """
    ended = EndedRun.read(run)
    quiet_environment()
    try:
        with open_store(tracking, root) as store:
            return show_ended(
                store,
                ended,
                metrics,
                root=root,
                experiment=experiment,
                seed=seed,
                commit=commit_tags(root),
                live=live,
                extractor=extractor,
                parent_id=parent_id,
            )
    except tracking_failures() as error:
        return Mirrored(None, False, warning_line(error, tracking, root))


def show_ended(
    store: Store,
    ended: EndedRun,
    metrics: Mapping[str, float | str],
    *,
    root: Path,
    experiment: str,
    seed: int,
    commit: Mapping[str, str],
    live: RunDirectory | None = None,
    extractor: Mapping[str, Any] | None = None,
    parent_id: str | None = None,
    also: Mapping[str, str] | None = None,
) -> Mirrored:
    """As ``mirror_run`` does, in an open store.

    Args:
        commit: tags with the project's commit.
        also: tags that tell this view from others of an equal run under an equal name.
    """
    run, settings, identity, result = ended
    live, extractor = live or run, dict(extractor or {})
    dataset = DatasetInfo.of_run(settings.data.source, identity["data_digest"], root)
    client = store.client
    spectrum = read_spectrum(run, result)
    spectrum_files = () if spectrum is None else (run.spectrum, run.spectrum_plot)
    # The clock, the environment and the pictures' counts stay out: what was shown with them must not be lost once
    # they are deleted.
    content = content_digest(
        [
            *((path.name, path) for path in (run.settings, run.journal, run.result, *spectrum_files)),
            *((f"samples/{path.name}", path) for path in sorted(run.samples.glob("*.png"))),
        ],
        {
            "metrics": dict(metrics),
            "dataset": [dataset.name, dataset.digest],
            "extractor": extractor,
        },
    )
    key = {
        "gossipgan.role": "run",
        "gossipgan.fingerprint": str(identity["fingerprint"]),
        "gossipgan.experiment": experiment,
        **(also or {}),
    }
    kept = None
    for found in store.find(key):
        if kept is None and found.data.tags.get("gossipgan.content") == content:
            kept = found
        else:
            parent_id = parent_id or found.data.tags.get(PARENT_TAG)
            client.delete_run(found.info.run_id)
    if kept is not None:
        if parent_id is not None and kept.data.tags.get(PARENT_TAG) != parent_id:
            client.set_tag(kept.info.run_id, PARENT_TAG, parent_id)
        return Mirrored(kept.info.run_id, False, None)

    outcome = str(result["outcome"])
    last = int(result["steps"])
    clock = read_clock(live.clock, otherwise=run.journal.stat().st_mtime)
    tags = {
        **key,
        "gossipgan.seed": str(seed),
        "gossipgan.method": describe_method(settings),
        "gossipgan.data_digest": dataset.digest,
        "gossipgan.outcome": outcome,
        "mlflow.source.name": "gossipgan",
        **commit,
    }
    if parent_id is not None:
        tags[PARENT_TAG] = parent_id
    run_id: str = client.create_run(
        store.experiment_id,
        start_time=clock.milliseconds(0),
        tags=tags,
        run_name=f"{experiment} seed {seed}",
    ).info.run_id
    log_params(
        store,
        run_id,
        {
            "experiment": experiment,
            "seed": seed,
            **settings_params(settings),
            **flatten({"extractor_measured": extractor}),
        },
    )
    client.log_inputs(run_id, [dataset.as_input()])
    points, left_out = series(run.journal, clock)
    end_points, end_left_out = finals(metrics, last, clock)
    spectral_points = spectrum_metrics(spectrum, last, clock) if spectrum is not None else []
    log_metrics(store, run_id, [*points, *end_points, *spectral_points])
    for name, count in sorted((left_out + end_left_out).items()):
        client.set_tag(run_id, f"gossipgan.not_finite/{name}", str(count))
    # The settings may name a store with a password in it.
    client.log_text(run_id, without_password(run.settings.read_text()), run.settings.name)
    for file in (run.journal, run.result, live.environment, *spectrum_files):
        if file.exists():
            client.log_artifact(run_id, str(file))
    if metrics:
        client.log_text(run_id, json.dumps(dict(metrics), indent=2) + "\n", "metrics.json")
    if run.samples.exists():
        client.log_artifacts(run_id, str(run.samples), run.samples.name)
    client.set_terminated(run_id, status="FINISHED" if outcome == "ok" else "FAILED", end_time=clock.milliseconds(last))
    # Last of all: what does not carry this was cut short.
    client.set_tag(run_id, "gossipgan.content", content)
    return Mirrored(run_id, True, None)


def log_metrics(store: Store, run_id: str, metrics: list[Any]) -> None:
    """Log any number of metrics, in as few calls as MLflow allows."""
    for start in range(0, len(metrics), METRICS_AT_ONCE):
        store.client.log_batch(run_id, metrics=metrics[start : start + METRICS_AT_ONCE])


def log_params(store: Store, run_id: str, values: Mapping[str, Any]) -> None:
    """Log any number of parameters; what is not text is written as JSON, so that 0.50 is always 0.5."""
    from mlflow.entities import Param

    params = [Param(name, value if isinstance(value, str) else json.dumps(value)) for name, value in values.items()]
    for start in range(0, len(params), _PARAMS_AT_ONCE):
        store.client.log_batch(run_id, params=params[start : start + _PARAMS_AT_ONCE])


def settings_params(settings: Settings) -> dict[str, Any]:
    """Resolved settings by dotted key. Where MLflow is says nothing about a run, and may hold a password."""
    return flatten(settings.model_dump(mode="json", exclude={"tracking"}))
