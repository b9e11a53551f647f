"""A worker: takes a trial, runs it in processes of their own, watches their journals, and tells what it came to."""

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from gossipgan.config import load_params
from gossipgan.runs import RunDirectory
from gossipgan.sweeps.claim import Claim, claim, tell_known
from gossipgan.sweeps.file import Sweep, load_sweep
from gossipgan.sweeps.kin import Identity, kill_group
from gossipgan.sweeps.nursery import Nursery
from gossipgan.sweeps.outcome import KNOWN, Outcome, count_oom_kills, outcome_of_exit
from gossipgan.sweeps.storage import StudyStorage
from gossipgan.sweeps.study import check_unchanged, held, recover
from gossipgan.sweeps.trial_process import RunRequest, import_training, run_trial
from gossipgan.sweeps.watch import last_line, read_curve, worst

#: Seconds between looks at a running trial.
_LOOK = 0.2
#: Seconds between looks at whether the sweep is to stop.
_LOOK_FOR_STOP = 1.0
#: Seconds between signs of life in the storage.
_BEAT = 15.0

#: Told for a diverged trial while the sweep has seen no score at all: bad, by the measure of any metric.
_UNSEEN_WORST = {"minimize": 1000.0, "maximize": 0.0}


class WorkRequest(NamedTuple):
    """What a worker is to do, as JSON can carry it.

    Attributes:
        root: the folder of ``params.yaml``.
        params: the params file.
        file: the sweep file.
        study: its study's name.
        folder: where its trials' folders are.
        url: of the storage.
        score: full name of the metric that trials are judged by.
        data_digest: of the prepared store.
        trials: the budget; None: no limit of this kind.
        devices: GPUs that its trials may see; None: all.
        log: file that everything printed is added to.
    """

    root: str
    params: str
    file: str
    study: str
    folder: str
    url: str
    score: str
    data_digest: str
    trials: int | None
    devices: str | None
    log: str


@dataclass
class _Finding:
    """What a trial has come to."""

    outcome: Outcome
    reason: str | None = None


def import_worker() -> None:
    """Import what workers and their trials need, and touch no device."""
    import optuna  # noqa: F401

    import_training()


def work(request: dict[str, Any]) -> int:
    """A worker's process, from its first trial to its last; returns its exit status."""
    wanted = WorkRequest(**request)
    nursery = Nursery(lambda: None, run_trial)  # everything is imported already
    log = os.open(wanted.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    worker = Worker(wanted, nursery)
    signal.signal(signal.SIGTERM, worker.stop)
    worker.work()
    nursery.close()
    return 0


class Worker:
    """One trial at a time, until nothing is left or the sweep is stopped."""

    def __init__(self, wanted: WorkRequest, nursery: Nursery) -> None:
        self._wanted = wanted
        self._nursery = nursery
        self._sweep: Sweep = load_sweep(Path(wanted.file), load_params(Path(wanted.params)))
        self._storage = StudyStorage(wanted.url, create=False)
        check_unchanged(self._storage, self._sweep, wanted.study, wanted.data_digest)
        self._stopped = False
        self._looked_for_stop = 0.0

    def stop(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Put the trial under way back into the queue, and end. Also a signal's handler."""
        self._stopped = True

    def work(self) -> None:
        """Take and run trials."""
        wanted = self._wanted
        while not self._stopping():
            taken = claim(self._storage, self._sweep, wanted.study, wanted.trials, wanted.data_digest)
            if taken is None:
                return
            _Execution(taken, self._sweep, self._storage, wanted, self._nursery, self._stopping).run()

    def _stopping(self) -> bool:
        now = time.monotonic()
        if not self._stopped and now - self._looked_for_stop > _LOOK_FOR_STOP:
            self._looked_for_stop = now
            import optuna

            study = optuna.load_study(study_name=self._wanted.study, storage=self._storage.optuna)
            self._stopped = bool(study.user_attrs.get("stop"))
        return self._stopped


class _Execution:
    """One trial that this worker has, from its first run to what is told of it."""

    def __init__(
        self,
        taken: Claim,
        sweep: Sweep,
        storage: StudyStorage,
        wanted: WorkRequest,
        nursery: Nursery,
        stopping: Callable[[], bool],
    ) -> None:
        self._claim = taken
        self._sweep = sweep
        self._storage = storage
        self._wanted = wanted
        self._nursery = nursery
        self._stopping = stopping
        self._folder = Path(wanted.folder) / taken.folder
        before = taken.trial.user_attrs
        self._seconds_before = float(before.get("seconds", 0.0))
        self._failures = int(before.get("failures", 0))
        self._began = time.monotonic()
        self._beaten = self._began
        self._reported = set(self._frozen(taken.number).intermediate_values)
        self._scores: dict[int, float] = {}

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
                recover(self._storage, self._wanted.study)
            self._beat()
            time.sleep(_LOOK)
        self._put_back()
        return True

    def _run_seed(self, seed: int, *, prune: bool) -> _Finding:
        """Run one seed, again where its process was killed."""
        while True:
            finding, again = self._run_once(seed, prune=prune)
            if not again:
                return finding
            self._failures += 1
            self._claim.trial.set_user_attr("failures", self._failures)
            if self._failures > self._sweep.settings.budget.retries:
                return finding

    def _run_once(self, seed: int, *, prune: bool) -> tuple[_Finding, bool]:
        run = RunDirectory(self._folder / f"seed-{seed}")
        log = self._folder / f"seed-{seed}.log"
        scores = None if self._sweep.from_journal else self._folder / f"seed-{seed}.scores.json"
        request = RunRequest(
            root=self._wanted.root,
            experiment=f"{self._wanted.study} {self._claim.folder}",
            settings=self._claim.settings.model_dump(mode="json"),
            seed=seed,
            run=str(run.path),
            log=str(log),
            scores=None if scores is None else str(scores),
            devices=self._wanted.devices,
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
        score = self._score(run, scores)
        if result["outcome"] != "ok" or score is None or not math.isfinite(score):
            return _Finding("diverged", result.get("reason") or f"{self._wanted.score} is {score}"), False
        self._scores[seed] = score
        return _Finding("ok"), False

    def _watch(self, pid: int, run: RunDirectory, *, prune: bool) -> tuple[int, _Finding | None]:
        """Wait for a run's process, and look at its journal meanwhile; its status, or why it was ended."""
        limit = self._sweep.settings.budget.trial_time
        size = 0
        while True:
            for ended, status in self._nursery.ended(_LOOK):
                if ended == pid:
                    if prune and status == 0:
                        self._report(run)
                    return status, None
            finding = None
            if self._stopping():
                finding = _Finding("stopped")
            elif limit is not None and self._seconds > limit:
                finding = _Finding("timed-out", f"not done in {limit:g} s")
            elif prune and run.journal.exists() and run.journal.stat().st_size != size:
                size = run.journal.stat().st_size
                if self._report(run):
                    finding = _Finding("pruned")
            if finding is not None:
                self._end(pid)
                return 0, finding
            self._beat()

    def _report(self, run: RunDirectory) -> bool:
        """Tell the study what is new in a curve; whether the trial is to be pruned."""
        if not self._sweep.from_journal:
            return False
        new = False
        for step, score in read_curve(run, self._wanted.score).scores.items():
            if step not in self._reported and math.isfinite(score):
                self._claim.trial.report(score, step)
                self._reported.add(step)
                new = True
        return new and self._claim.baseline is None and self._claim.trial.should_prune()

    def _end(self, pid: int) -> None:
        kill_group(pid)
        while pid not in {ended for ended, _ in self._nursery.ended(_LOOK)}:
            pass

    def _score(self, run: RunDirectory, scores: Path | None) -> float | None:
        if scores is None:
            return read_curve(run, self._wanted.score).last
        found = json.loads(scores.read_text()).get(self._wanted.score)
        return None if found is None else float(found)

    @property
    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._began

    def _beat(self) -> None:
        """A sign of life, and the time spent, from time to time."""
        now = time.monotonic()
        if now - self._beaten > _BEAT:
            self._beaten = now
            trial = self._claim.trial
            trial.set_user_attr("worker", {**Identity.own()._asdict(), "beat": time.time()})
            trial.set_user_attr("seconds", self._seconds)

    def _put_back(self) -> None:
        self._storage.set_waiting(self._claim.study.study_name, self._claim.number)

    def _tell(self, finding: _Finding) -> None:
        from optuna.trial import TrialState

        study, trial = self._claim.study, self._claim.trial
        trial.set_user_attr("seconds", self._seconds)
        trial.set_user_attr("outcome", finding.outcome)
        if finding.reason:
            trial.set_user_attr("reason", finding.reason)
        if self._scores:
            trial.set_user_attr("scores", {str(seed): score for seed, score in self._scores.items()})
        match finding.outcome:
            case "stopped":
                self._put_back()
            case "ok":
                study.tell(trial, sum(self._scores.values()) / len(self._scores))
            case "diverged":
                study.tell(trial, self._worst())
            case "crashed":
                study.tell(trial, state=TrialState.FAIL)
            case _:
                study.tell(trial, state=TrialState.PRUNED)
        if finding.outcome not in ("stopped", "crashed"):
            self._forget_checkpoints()

    def _worst(self) -> float:
        """What a diverged trial is worth: the worst that any trial has shown."""
        objective = self._sweep.settings.objective
        if objective.diverged is not None:
            return objective.diverged
        seen: list[float] = []
        for trial in self._claim.study.get_trials(deepcopy=False):
            seen.extend(trial.intermediate_values.values())
            seen.extend(trial.values or () if trial.user_attrs.get("outcome") == "ok" else ())
        found = worst(seen, minimize=objective.minimize)
        return _UNSEEN_WORST["minimize" if objective.minimize else "maximize"] if found is None else found

    def _forget_checkpoints(self) -> None:
        """A trial that has ended is not gone on with."""
        import shutil

        for checkpoints in self._folder.glob("seed-*/checkpoints"):
            shutil.rmtree(checkpoints)
