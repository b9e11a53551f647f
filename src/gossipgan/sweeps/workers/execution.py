"""The execution of one trial: its runs in processes of their own, watched by their journals, and what it came to."""

import json
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.runs import RunDirectory
from gossipgan.sweeps.processes import (
    KNOWN,
    CurveReader,
    Nursery,
    Outcome,
    RunRequest,
    count_oom_kills,
    kill_group,
    last_line,
    outcome_of_exit,
    read_curve,
    read_spent,
    worst,
)
from gossipgan.sweeps.search import Objective, Sweep
from gossipgan.sweeps.study import Claim, StudyStorage, held, keep, recover, tell_known

#: Seconds between looks at a running trial.
_LOOK = 0.2
#: Seconds between signs of life in the storage.
_BEAT = 15.0
#: Seconds between the first and the last process that a cluster signals of a job, and before a run is begun again.
_SIGNALLED = 2.0

#: Told for a diverged trial while the sweep has seen no score at all: bad, by the measure of any metric.
_UNSEEN_WORST = {"minimize": 1000.0, "maximize": 0.0}
#: The same of bytes.
_UNSEEN_BYTES = 1e12


class Place(NamedTuple):
    """Where trials are run, and how.

    Attributes:
        study: its name.
        root: the folder of ``params.yaml``.
        folder: where its trials' folders are.
        metrics: full names of what trials are judged by.
        processes: of each run, as far as it has learners for them.
        devices: GPUs that its runs may see; None: all.
    """

    study: str
    root: str
    folder: Path
    metrics: tuple[str, ...]
    processes: int
    devices: str | None


class _Finding(NamedTuple):
    """What a trial has come to."""

    outcome: Outcome
    reason: str | None = None


class Execution:
    """One trial that this worker has, from its first run to what is told of it.

    Args:
        taken: the trial.
        nursery: makes the processes of its runs.
        stopping: whether the sweep is to stop; asked again and again.
    """

    def __init__(
        self,
        taken: Claim,
        sweep: Sweep,
        storage: StudyStorage,
        place: Place,
        nursery: Nursery,
        stopping: Callable[[], bool],
    ) -> None:
        self._claim = taken
        self._sweep = sweep
        self._storage = storage
        self._place = place
        self._nursery = nursery
        self._stopping = stopping
        self._folder = place.folder / taken.folder
        before = taken.trial.user_attrs
        self._seconds_before = float(before.get("seconds", 0.0))
        self._failures = int(before.get("failures", 0))
        self._began = time.monotonic()
        self._beaten = self._began
        self._reported = set(self._frozen(taken.number).intermediate_values)
        self._values: dict[int, tuple[float, ...]] = {}

    def run(self) -> None:
        """Run it, and tell the study."""
        if self._claim.twin is not None and self._wait_for_twin(self._claim.twin):
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        finding = None
        for index, seed in enumerate(self._sweep.seeds):
            finding = self._run_seed(seed, prune=index == 0)
            if finding.outcome != "ok":
                break
        assert finding is not None
        self._tell(finding)

    def _frozen(self, number: int) -> Any:
        return self._claim.study.get_trials(deepcopy=False)[number]

    def _wait_for_twin(self, twin: int) -> bool:
        """Wait for a trial of the same fingerprint; whether this one need not be run now."""
        from optuna.trial import TrialState

        while not self._stopping():
            known = self._frozen(twin)
            if known.state.is_finished() and known.user_attrs.get("outcome") in KNOWN:
                tell_known(self._claim.study, self._claim.trial, known)
                return True
            if known.state.is_finished():
                return False  # it failed, and has nothing to teach
            if known.state == TrialState.WAITING:
                break  # it goes first: this worker takes it next, unless another has done so
            if not held(known):
                recover(self._storage, self._place.study)
            if not self._beat():
                return True
            time.sleep(_LOOK)
        if keep(self._storage, self._claim, self._seconds):
            self._put_back()
        return True

    def _run_seed(self, seed: int, *, prune: bool) -> _Finding:
        """Run one seed, again where its process was killed."""
        while True:
            finding, again = self._run_once(seed, prune=prune)
            if not again:
                return finding
            if self._stops_soon():
                return _Finding("stopped")
            self._failures += 1
            self._claim.trial.set_user_attr("failures", self._failures)
            if self._failures > self._sweep.settings.budget.retries:
                return finding

    def _stops_soon(self) -> bool:
        """Whether a run was ended as all is: a cluster signals every process of a job, this one maybe last."""
        until = time.monotonic() + _SIGNALLED
        while not (stopping := self._stopping()) and time.monotonic() < until:
            time.sleep(_LOOK)
        return stopping

    def _run_once(self, seed: int, *, prune: bool) -> tuple[_Finding, bool]:
        run = RunDirectory(self._folder / f"seed-{seed}")
        log = self._folder / f"seed-{seed}.log"
        scores = None if self._sweep.from_journal else self._folder / f"seed-{seed}.scores.json"
        request = RunRequest(
            root=self._place.root,
            experiment=f"{self._place.study} {self._claim.folder}",
            settings=self._claim.settings.model_dump(mode="json"),
            seed=seed,
            run=str(run.path),
            log=str(log),
            scores=None if scores is None else str(scores),
            processes=min(self._place.processes, self._claim.settings.mixing.learners),
            devices=self._place.devices,
        )
        kills = count_oom_kills()
        pid = self._nursery.spawn(request._asdict())
        status, ended_by_us = self._watch(pid, run, prune=prune)
        if ended_by_us is not None:
            return ended_by_us, False
        outcome, again, reason = outcome_of_exit(status, count_oom_kills() - kills)
        if outcome is not None:
            return _Finding(outcome, reason or last_line(log)), again
        result = run.read_result()
        values = self._measure(run, scores)
        if result["outcome"] != "ok":
            return _Finding("diverged", result["reason"]), False
        for metric, value in zip(self._place.metrics, values, strict=True):
            if value is None or not math.isfinite(value):
                return _Finding("diverged", f"{metric} is {value}"), False
        self._values[seed] = tuple(value for value in values if value is not None)
        return _Finding("ok"), False

    def _watch(self, pid: int, run: RunDirectory, *, prune: bool) -> tuple[int, _Finding | None]:
        """Wait for a run's process, and look at its journal meanwhile; its status, or why it was ended."""
        limit = self._sweep.settings.budget.trial_time
        curve, size = CurveReader(run, self._place.metrics[0]), 0
        while True:
            for ended, status in self._nursery.ended(_LOOK):
                if ended == pid:
                    if prune and status == 0:
                        self._report(curve, ended=True)
                    return status, None
            finding = None
            if self._stopping():
                finding = _Finding("stopped")
            elif limit is not None and self._seconds > limit:
                finding = _Finding("timed-out", f"not done in {limit:g} s")
            elif prune and run.journal.exists() and run.journal.stat().st_size != size:
                size = run.journal.stat().st_size
                if self._report(curve):
                    finding = _Finding("pruned")
            if finding is not None:
                self._end(pid)
                return 0, finding
            if not self._beat():
                self._end(pid)
                return 0, _Finding("stopped")

    def _report(self, curve: CurveReader, *, ended: bool = False) -> bool:
        """Tell the study what is new in a curve, and ask the pruner of each point; whether the trial is to be pruned.

        A run that has ended is told whole, for the comparison with others: there is nothing left to save.
        """
        if not self._sweep.has_curve:
            return False
        for step, score in curve.read().scores.items():
            if step in self._reported or not math.isfinite(score):
                continue
            self._claim.trial.report(score, step)
            self._reported.add(step)
            hopeless = self._claim.baseline is None and self._claim.trial.should_prune()
            if hopeless and not ended:
                return True
        return False

    def _end(self, pid: int) -> None:
        kill_group(pid)
        while pid not in {ended for ended, _ in self._nursery.ended(_LOOK)}:
            pass

    def _measure(self, run: RunDirectory, scores: Path | None) -> list[float | None]:
        """A finished run by each objective; None where it was not scored, as G's pictures were not finite."""
        told = {} if scores is None else json.loads(scores.read_text())
        measured: list[float | None] = []
        for metric in self._place.metrics:
            curve = read_curve(run, metric)
            if metric == "bytes":
                measured.append(curve.sent)
            else:
                measured.append(curve.last if scores is None else told.get(metric))
        return measured

    @property
    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._began

    def _beat(self) -> bool:
        """A sign of life, and the time spent, from time to time; False where another worker has the trial now."""
        now = time.monotonic()
        if now - self._beaten <= _BEAT:
            return True
        self._beaten = now
        return keep(self._storage, self._claim, self._seconds)

    def _put_back(self) -> None:
        self._storage.set_waiting(self._claim.study.study_name, self._claim.number)

    def _tell(self, finding: _Finding) -> None:
        from optuna.trial import TrialState

        study, trial = self._claim.study, self._claim.trial
        if not keep(self._storage, self._claim, self._seconds):
            return  # it was taken for dead, and another worker has the trial
        trial.set_user_attr("outcome", finding.outcome)
        if finding.reason:
            trial.set_user_attr("reason", finding.reason)
        if self._values:
            trial.set_user_attr("scores", {str(seed): values[0] for seed, values in self._values.items()})
        if finding.outcome != "stopped":
            spent = read_spent(self._folder, self._place.metrics[0])
            trial.set_user_attr("bytes", spent.sent)
            trial.set_user_attr("images", spent.images)
        match finding.outcome:
            case "stopped":
                self._put_back()
            case "ok":
                study.tell(trial, [sum(seeds) / len(seeds) for seeds in zip(*self._values.values(), strict=True)])
            case "diverged":
                study.tell(trial, self._worst())
            case "crashed":
                study.tell(trial, state=TrialState.FAIL)
            case _:
                study.tell(trial, state=TrialState.PRUNED)
        if finding.outcome not in ("stopped", "crashed"):
            self._forget_checkpoints()

    def _worst(self) -> list[float]:
        """What a diverged trial is worth by each objective: the worst that any trial has shown."""
        seen: list[list[float]] = [[] for _ in self._sweep.objectives]
        for trial in self._claim.study.get_trials(deepcopy=False):
            seen[0].extend(trial.intermediate_values.values())
            if trial.user_attrs.get("outcome") == "ok" and trial.values is not None:
                for known, value in zip(seen, trial.values, strict=True):
                    known.append(value)
        return [worst_of(objective, known) for objective, known in zip(self._sweep.objectives, seen, strict=True)]

    def _forget_checkpoints(self) -> None:
        """A trial that has ended is not gone on with."""
        for checkpoints in self._folder.glob("seed-*/checkpoints"):
            shutil.rmtree(checkpoints)


def worst_of(objective: Objective, seen: list[float]) -> float:
    """What a diverged trial is worth by an objective, after such values of others."""
    if objective.diverged is not None:
        return objective.diverged
    found = worst(seen, minimize=objective.minimize)
    if found is not None:
        return found
    if objective.metric == "bytes" and objective.minimize:
        return _UNSEEN_BYTES
    return _UNSEEN_WORST["minimize" if objective.minimize else "maximize"]
