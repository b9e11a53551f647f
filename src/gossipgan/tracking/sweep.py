"""A sweep as an MLflow run; its trials, baselines and what was confirmed nested under it, and their seeds under those.

The sweep's own metrics: ``best/score`` after each trial, ``<baseline>/score``, ``trials/<outcome>`` and ``seconds``.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.config import TrackingSettings
from gossipgan.tracking.commit import commit_tags
from gossipgan.tracking.content import content_digest
from gossipgan.tracking.run import log_metrics
from gossipgan.tracking.store import (
    Store,
    open_store,
    quiet_environment,
    tracking_failures,
    warning_line,
    without_password,
)
from gossipgan.tracking.trial import OPEN, SweepTrial, show_trial

#: Outcomes that are counted, whether any trial has come to them or not.
_COUNTED = ("ok", "pruned", "diverged", "crashed", "out-of-memory", "timed-out")


class SweepRecord(NamedTuple):
    """A sweep in plain values.

    Attributes:
        id: of this study, as no other has it.
        file: the sweep file; it need not be there.
        report: the folder of the sweep's report; it need not be there.
        metric: full name of the score.
        searched: dotted keys of the settings that are searched.
        seconds: of running so far.
        trials: baselines and trials that have begun, and what was confirmed of them, in order.
    """

    id: str
    name: str
    file: Path
    report: Path
    metric: str
    minimize: bool
    searched: tuple[str, ...]
    seconds: float
    trials: tuple[SweepTrial, ...]


class ShownSweep(NamedTuple):
    """What a look at a sweep brought to MLflow.

    Attributes:
        written: names of trials and baselines that were shown, or shown anew.
        unchanged: names of those that MLflow showed already.
        closed: names of those that MLflow showed as running and that are not.
        warning: one line where MLflow could not be written to.
    """

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    closed: tuple[str, ...]
    warning: str | None


class SweepMirror:
    """Shows a sweep in MLflow, again and again if need be.

    Args:
        tracking: where to; with ``mlflow: false`` nothing is done.
        root: the folder of ``params.yaml``.
    """

    def __init__(self, tracking: TrackingSettings, root: Path) -> None:
        self._tracking = tracking
        self._root = root
        self._shown: dict[str, SweepTrial] = {}

    def show(self, sweep: SweepRecord, *, whole: bool = True, under_way: bool = False) -> ShownSweep:
        """Show a sweep as it is now, once: whatever MLflow shows of it already is kept, moved or made anew.

        It stops at the first sign that MLflow cannot be written to, and takes turns with other writers at every
        trial, so that none waits for a whole sweep.

        Args:
            whole: look at all that MLflow has of it; otherwise at what has changed since the last call.
            under_way: somebody is running it, even if no trial runs at this moment.

        Returns:
            What was done, or a warning line if MLflow cannot be written to: never an exception for that.

        Raises:
            UserError: a file of a run is damaged.
        """
        if not self._tracking.mlflow:
            return ShownSweep((), (), (), None)
        if whole:
            self._shown.clear()
        written: list[str] = []
        unchanged: list[str] = []
        closed: list[str] = []
        warning = None
        changed = [one for one in sweep.trials if one.state == "running" or self._shown.get(one.name) != one]
        quiet_environment()
        try:
            commit = commit_tags(self._root)
            with self._open() as store:
                there = _by_trial(store.find(_key(sweep))) if whole else {}
                parent_id, known = _parent(store, sweep, commit)
            for trial in changed:
                with self._open() as store:
                    shown = show_trial(
                        store,
                        trial,
                        there.get(trial.name, ())
                        if whole
                        else store.find({**_key(sweep), "gossipgan.trial": trial.name}),
                        root=self._root,
                        sweep=sweep.name,
                        key=_key(sweep),
                        parent_id=parent_id,
                        commit=commit,
                    )
                self._shown[trial.name] = trial
                (written if shown.written else unchanged).append(trial.name)
                closed += [trial.name] if shown.closed else []
            with self._open() as store:
                if _sum_up(store, sweep, parent_id, under_way=under_way) and known:
                    closed.append(sweep.name)
        except tracking_failures() as error:
            again = f"gossipgan sweep sync {sweep.name}"
            warning = warning_line(error, self._tracking, self._root, again)
        return ShownSweep(tuple(written), tuple(unchanged), tuple(closed), warning)

    def _open(self) -> Any:
        return open_store(self._tracking, self._root)


def _key(sweep: SweepRecord) -> dict[str, str]:
    return {"gossipgan.sweep_id": sweep.id}


def _by_trial(runs: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for run in runs:
        found.setdefault(run.data.tags.get("gossipgan.trial", ""), []).append(run)
    return found


def _parent(store: Store, sweep: SweepRecord, commit: Mapping[str, str]) -> tuple[str, bool]:
    """The sweep's view, and whether it was there already."""
    key = {**_key(sweep), "gossipgan.role": "sweep"}
    found = store.find(key)
    for run in found[1:]:  # made by two writers at once, on two machines
        store.client.delete_run(run.info.run_id)
    if found:
        return str(found[0].info.run_id), True
    started = min((one.started for one in sweep.trials if one.started is not None), default=None)
    tags = {
        **key,
        "gossipgan.sweep": sweep.name,
        "gossipgan.sweep_file": sweep.file.name,
        "gossipgan.metric": sweep.metric,
        "gossipgan.searched": " ".join(sweep.searched),
        "mlflow.source.name": "gossipgan",
        **commit,
    }
    run = store.client.create_run(
        store.experiment_id,
        start_time=None if started is None else round(started * 1000),
        tags=tags,
        run_name=sweep.name,
    )
    return str(run.info.run_id), False


def _sum_up(store: Store, sweep: SweepRecord, parent_id: str, *, under_way: bool) -> bool:
    """Bring the sweep's view up to date; whether it stood there as running, and no longer does."""
    from mlflow.entities import Metric

    client, run = store.client, store.client.get_run(parent_id)
    tags, status = run.data.tags, _status(sweep, under_way)
    counts = _counts(sweep)
    baselines = {
        f"{one.name}/score": one.metrics["score"]
        for one in sweep.trials
        if one.role == "baseline" and "score" in one.metrics
    }
    best = _best_so_far(sweep)
    values = {**counts, **baselines}
    content = content_digest([], [values, sorted(best.items())])
    if tags.get("gossipgan.content") != content:
        ended = sum(one.state not in OPEN for one in sweep.trials if one.role == "trial")
        shown = int(tags.get("gossipgan.best_shown", "-1"))
        points = [Metric(name, value, run.info.start_time, ended) for name, value in values.items()]
        points.append(Metric("seconds", sweep.seconds, run.info.start_time, ended))
        points += [Metric("best/score", best[at], run.info.start_time, at) for at in best if at > shown]
        log_metrics(store, parent_id, points)
        client.set_tag(parent_id, "mlflow.note.content", _note(sweep))
        client.set_tag(parent_id, "gossipgan.best_shown", str(max(best, default=-1)))
        client.set_tag(parent_id, "gossipgan.content", content)
    report = [path for path in sorted(sweep.report.rglob("*")) if path.is_file()]
    files = [*((str(path.relative_to(sweep.report)), path) for path in report), (sweep.file.name, sweep.file)]
    content = content_digest(files, None)
    if tags.get("gossipgan.files") != content:
        if sweep.file.exists():
            client.log_text(parent_id, without_password(sweep.file.read_text()), sweep.file.name)
        if report:
            client.log_artifacts(parent_id, str(sweep.report), "report")
        client.set_tag(parent_id, "gossipgan.files", content)
    if run.info.status == status:
        return False
    if status == "RUNNING":
        client.update_run(parent_id, status=status)
    else:
        client.set_terminated(parent_id, status=status)
    return bool(run.info.status == "RUNNING")


def _status(sweep: SweepRecord, under_way: bool) -> str:
    states = {one.state for one in sweep.trials}
    if under_way or "running" in states:
        return "RUNNING"
    return "KILLED" if states & set(OPEN) else "FINISHED"


def _counts(sweep: SweepRecord) -> dict[str, float]:
    """Trials by outcome, as metrics; warm starts are another sweep's."""
    own = [one for one in sweep.trials if one.role == "trial" and "/" not in (one.copy_of or "")]
    counted = Counter(one.state for one in own if one.state not in OPEN)
    return {f"trials/{outcome}": float(counted[outcome]) for outcome in (*_COUNTED, *sorted(counted.keys() - _COUNTED))}


def _best_so_far(sweep: SweepRecord) -> dict[int, float]:
    """The best score after each trial, by their order, as far as all before it have ended."""
    best: dict[int, float] = {}
    so_far: float | None = None
    for number, one in enumerate(one for one in sweep.trials if one.role == "trial"):
        if one.number != number or one.state in OPEN:
            break
        score = one.metrics.get("score")
        if score is not None and (so_far is None or (score < so_far) == sweep.minimize):
            so_far = score
        if so_far is not None:
            best[number] = so_far
    return best


def _note(sweep: SweepRecord) -> str:
    """What MLflow's page of a sweep says of it."""
    ok = [one for one in sweep.trials if "score" in one.metrics]
    ok.sort(key=lambda one: one.metrics["score"] if sweep.minimize else -one.metrics["score"])
    best = next((one for one in ok if one.role == "trial"), None)
    counts = Counter(one.state for one in sweep.trials if one.role == "trial")
    lines = [
        f"Sweep of {', '.join(sweep.searched)} by {sweep.metric}, {'less' if sweep.minimize else 'more'} is better.",
        "Trials: " + (", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "none yet") + ".",
    ]
    if best is not None:
        values = ", ".join(f"{key} {json.dumps(best.settings.get(key))}" for key in sweep.searched)
        lines.append(f"Best: {best.name}, {best.metrics['score']:.6g} ({values}).")
    lines += [f"{one.name}: {one.metrics['score']:.6g}." for one in ok if one.role == "baseline"]
    return "\n\n".join(lines)
