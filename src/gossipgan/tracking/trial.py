"""One trial of a sweep as an MLflow run, and the runs of its seeds below it.

Its metrics, in the sweep's table and in parallel coordinates:

====================  ==========================================================================================
``score``             what it is judged by, of a trial or a baseline that is ok; no other has this number, so
                      that a trial that was pruned or has diverged cannot stand among the successes
``score/seed-<n>``    the same by seed
``<name>``            each objective under its full name, and every score of the journals by iteration: the mean
                      over the seeds that were begun, where all of them have it
``seconds``           spent on it
``bytes``             sent by all learners of a run
====================  ==========================================================================================

Its parameters are the resolved settings by dotted key, as those of any run.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.runs import RunDirectory, read_journal
from gossipgan.tracking.content import content_digest
from gossipgan.tracking.method import describe_method
from gossipgan.tracking.run import PARENT_TAG, EndedRun, log_metrics, log_params, settings_params, show_ended
from gossipgan.tracking.series import read_clock
from gossipgan.tracking.store import Store

#: What MLflow says of a trial. Only one that is ok has finished.
_STATUS = {
    "ok": "FINISHED",
    "running": "RUNNING",
    "pruned": "KILLED",
    "timed-out": "KILLED",
    "stopped": "KILLED",
    "interrupted": "KILLED",
}

#: States of trials that have begun and not ended.
OPEN = ("running", "stopped", "interrupted")

#: Tag with the last iteration that the view of a running trial shows.
_STEP = "gossipgan.step"


class SeedRun(NamedTuple):
    """A trial's run at one seed, begun or ended.

    Attributes:
        scores: what it was found to score, by metric name; empty where its journal is all there is.
    """

    directory: RunDirectory
    scores: Mapping[str, float | str]


class SweepTrial(NamedTuple):
    """A trial, a baseline, or settings that were confirmed on fresh seeds, in plain values.

    Attributes:
        number: in its sweep, or among the baselines.
        name: ``trial-<n>``, ``baseline-<experiment>`` or ``confirm-<one of these>-<iterations>-steps``.
        role: ``trial``, ``baseline`` or ``confirm``.
        state: its outcome; or ``running``, ``stopped`` or ``interrupted``.
        settings: what is known of its settings by dotted key; its runs, where there are any, know all.
        metrics: scores and costs, by the name that MLflow is to show.
        runs: by seed, in the order in which they were begun; of a copy those of its original, if they are at hand.
        reason: in words, why it ended as it did.
        copy_of: the trial that it took its outcome from: ``trial-<n>``, or ``<sweep>/<n>`` of a warm start.
        started, ended: Unix times, where they are known.
    """

    number: int
    name: str
    role: str
    state: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, float]
    runs: Mapping[int, SeedRun]
    reason: str | None
    copy_of: str | None
    started: float | None
    ended: float | None


class ShownTrial(NamedTuple):
    """What became of a trial's view.

    Attributes:
        written: False where it was there already, with the same content.
        closed: whether it stood there as running, and no longer does.
    """

    written: bool
    closed: bool


def show_trial(
    store: Store,
    trial: SweepTrial,
    there: Sequence[Any],
    *,
    root: Path,
    sweep: str,
    key: Mapping[str, str],
    parent_id: str,
    commit: Mapping[str, str],
) -> ShownTrial:
    """Show a trial, once: a view of other content, or one that was cut short, is deleted and made anew.

    Args:
        there: MLflow's runs of this trial: its views, and those of its seeds.
        root: the folder of ``params.yaml``.
        sweep: the sweep's name.
        key: tags that tell this sweep's views from all others.
        parent_id: the sweep's own view.
        commit: tags with the project's commit.

    Raises:
        UserError: a file of one of its runs is damaged.
    """
    client = store.client
    content = _content(trial)
    views = [run for run in there if run.data.tags.get("gossipgan.role") == trial.role]
    kept = next((run for run in views if _shows(run, trial, content)), None)
    closed = False
    for run in views:
        if run is not kept:
            closed = closed or (run.info.status == "RUNNING" and trial.state != "running")
            client.delete_run(run.info.run_id)
    if kept is not None:
        run_id = kept.info.run_id
        if kept.data.tags.get(PARENT_TAG) != parent_id:
            client.set_tag(run_id, PARENT_TAG, parent_id)
        if trial.state == "running":
            _go_on(store, run_id, trial, int(kept.data.tags.get(_STEP, "-1")))
        if trial.state == "running" or _seeds_shown(there, trial, run_id):
            return ShownTrial(False, closed)
    else:
        run_id = _create(store, trial, sweep, {**key, PARENT_TAG: parent_id, **commit})
    if trial.copy_of is None and trial.state != "running":
        for seed, run in trial.runs.items():
            if run.directory.result.exists():
                show_ended(
                    store,
                    EndedRun.read(run.directory),
                    run.scores,
                    root=root,
                    experiment=f"{sweep} {trial.name}",
                    seed=seed,
                    commit=commit,
                    parent_id=run_id,
                    also={**key, "gossipgan.trial": trial.name},
                )
    client.set_tag(run_id, "gossipgan.content", content)
    return ShownTrial(True, closed)


def _create(store: Store, trial: SweepTrial, sweep: str, tags: Mapping[str, str]) -> str:
    """Make a trial's view, complete but for its seeds and the tag that says so."""
    from mlflow.entities import Metric

    first = next(iter(trial.runs.values()), None)
    params = dict(trial.settings)
    tags = {
        **tags,
        "gossipgan.role": trial.role,
        "gossipgan.sweep": sweep,
        "gossipgan.trial": trial.name,
        "gossipgan.outcome": trial.state,
        "mlflow.source.name": "gossipgan",
    }
    if first is not None and first.directory.settings.exists():
        settings, _ = first.directory.read_settings()
        params = settings_params(settings)
        tags["gossipgan.method"] = describe_method(settings)
    if trial.copy_of is not None:
        tags["gossipgan.copy_of"] = trial.copy_of
    note = _note(trial)
    if note is not None:
        tags["mlflow.note.content"] = note
    run_id: str = store.client.create_run(
        store.experiment_id,
        start_time=None if trial.started is None else round(trial.started * 1000),
        tags=tags,
        run_name=_run_name(trial),
    ).info.run_id
    log_params(store, run_id, params)
    curves, last, time = _curves(trial)
    end = time if trial.ended is None else round(trial.ended * 1000)
    given = {name: value for name, value in trial.metrics.items() if math.isfinite(value) and name not in curves}
    log_metrics(
        store,
        run_id,
        [
            *(point for points in curves.values() for point in points),
            *(Metric(name, value, end, last) for name, value in given.items() if trial.state != "running"),
        ],
    )
    if trial.state == "running":
        store.client.set_tag(run_id, _STEP, str(last))
    else:
        store.client.set_terminated(run_id, status=_STATUS.get(trial.state, "FAILED"), end_time=end)
    return run_id


def _go_on(store: Store, run_id: str, trial: SweepTrial, shown: int) -> None:
    """Add to a running trial's view what its journal has gained."""
    curves, last, _ = _curves(trial)
    new = [point for points in curves.values() for point in points if point.step > shown]
    if new:
        log_metrics(store, run_id, new)
        store.client.set_tag(run_id, _STEP, str(last))


def _content(trial: SweepTrial) -> str:
    """Digest of what the view of a trial shows; of a running one, of what does not change while it runs."""
    values = {
        "name": trial.name,
        "state": trial.state,
        "settings": dict(trial.settings),
        "reason": trial.reason,
        "copy_of": trial.copy_of,
    }
    if trial.state == "running":
        return content_digest([], values)
    files = []
    for seed, run in trial.runs.items():
        directory = run.directory
        named = (directory.settings, directory.journal, directory.result, directory.spectrum, directory.spectrum_plot)
        files += [(f"seed-{seed}/{path.name}", path) for path in (*named, *sorted(directory.samples.glob("*.png")))]
    scores = {str(seed): dict(run.scores) for seed, run in trial.runs.items()}
    return content_digest(files, {**values, "metrics": dict(trial.metrics), "scores": scores})


def _shows(run: Any, trial: SweepTrial, content: str) -> bool:
    """Whether a view is whole and shows a trial as it is.

    One of a trial whose runs have been deleted since shows more than could be shown anew.
    """
    tags = run.data.tags
    if "gossipgan.content" not in tags or tags.get("gossipgan.outcome") != trial.state:
        return False
    return bool(tags["gossipgan.content"] == content) or (trial.state not in OPEN and not trial.runs)


def _seeds_shown(there: Sequence[Any], trial: SweepTrial, run_id: str) -> bool:
    """Whether all runs of a trial that have ended stand under its view."""
    wanted = {str(seed) for seed, run in trial.runs.items() if trial.copy_of is None and run.directory.result.exists()}
    return wanted <= {
        run.data.tags.get("gossipgan.seed")
        for run in there
        if run.data.tags.get(PARENT_TAG) == run_id and "gossipgan.content" in run.data.tags
    }


def _curves(trial: SweepTrial) -> tuple[dict[str, list[Any]], int, int]:
    """Scores by name as MLflow's metrics, the last iteration that has one, and its time in milliseconds.

    Of a running trial they are its first seed's, since a mean would change as the others follow.
    """
    from mlflow.entities import Metric

    runs = [run.directory for run in trial.runs.values() if run.directory.journal.exists()]
    if trial.state == "running":
        runs = runs[:1]
    if not runs:
        return {}, 0, round((trial.started or 0.0) * 1000)
    series = [_read_scores(run.journal) for run in runs]
    clock = read_clock(runs[0].clock, otherwise=runs[0].journal.stat().st_mtime)
    curves: dict[str, list[Any]] = {}
    last = 0
    for name, step in series[0]:
        values = [one.get((name, step), math.nan) for one in series]
        mean = sum(values) / len(values)
        if math.isfinite(mean):
            curves.setdefault(name, []).append(Metric(name, mean, clock.milliseconds(step), step))
            last = max(last, step)
    return curves, last, clock.milliseconds(last)


def _read_scores(journal: Path) -> dict[tuple[str, int], float]:
    """Every score of a journal, by name and iteration."""
    return {
        (name, int(entry["step"])): float(value)
        for entry in read_journal(journal)
        if entry["event"] == "score"
        for name, value in entry.items()
        if name not in ("event", "step", "images")
    }


def _run_name(trial: SweepTrial) -> str:
    """Its name, and what it came to where that is no success."""
    outcome = "" if trial.state in ("ok", "running") else f" {trial.state}"
    return f"{trial.name}{outcome}" + ("" if trial.copy_of is None else f" as {trial.copy_of}")


def _note(trial: SweepTrial) -> str | None:
    """What MLflow's page of a trial says of it."""
    lines = []
    if trial.copy_of is not None:
        lines.append(f"Not run: its settings are those of {trial.copy_of}, which it takes its outcome from.")
    if trial.state in ("stopped", "interrupted"):
        lines.append(f"{trial.state}: it waits for its sweep to be resumed.")
    elif trial.state not in ("ok", "running"):
        lines.append(f"{trial.state}: {trial.reason}" if trial.reason else trial.state)
    return "\n\n".join(lines) or None
