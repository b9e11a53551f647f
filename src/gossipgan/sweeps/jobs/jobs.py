"""Runs that are known beforehand, each in a process of its own, several at a time.

What has ended stands in the run directories, and nothing else is kept: whoever asks for the same runs again finds
those that have ended, and goes on with the others from their checkpoints.
"""

import json
import math
import shutil
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gossipgan.config import Settings
from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory
from gossipgan.sweeps.processes import (
    Nursery,
    RunRequest,
    count_oom_kills,
    import_training,
    last_line,
    outcome_of_exit,
    read_curve,
    run_trial,
)

#: Seconds between looks at the runs under way.
_LOOK = 1.0


class Job(NamedTuple):
    """A run that is wanted.

    Attributes:
        name: for people, without the seed.
        folder: its run directory; its log, and scores that its journal does not tell, lie beside it.
    """

    name: str
    settings: Settings
    seed: int
    fingerprint: str
    folder: Path

    @property
    def run(self) -> RunDirectory:
        return RunDirectory(self.folder)

    @property
    def log(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def scores(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.scores.json")


class Ended(NamedTuple):
    """A run that has ended: its score, or None and why where it diverged."""

    job: Job
    score: float | None
    reason: str | None


class JobsView(NamedTuple):
    """How far they have come, at one moment.

    Attributes:
        news: what has ended since the last look.
        ended, jobs: runs done and wanted.
        step, steps: iterations done and wanted, all runs together.
    """

    news: tuple[Ended, ...]
    ended: int
    jobs: int
    step: int
    steps: int


#: Shown what there is to see, again and again; what had ended before is no news.
ShowJobs = Callable[[JobsView], None]


class Ruling(NamedTuple):
    """How runs are made and judged.

    Attributes:
        root: the folder of ``params.yaml``.
        metric: full name of the score.
        from_journal: whether a run's journal tells it; else the finished run is evaluated.
        workers: runs at a time.
        retries: new starts of a run whose process was killed or could not write.
        devices: what runs see of the GPUs, taken by workers in turn; empty: all see all of them.
        processes: of each run, as far as it has learners for them.
    """

    root: Path
    metric: str
    from_journal: bool
    workers: int
    retries: int
    devices: tuple[str, ...] = ()
    processes: int = 1


def run_jobs(jobs: Sequence[Job], ruling: Ruling, nursery: Nursery, show: ShowJobs) -> dict[str, Ended]:
    """Run all of them to their ends. A run that fails does not keep the others from being done.

    Args:
        jobs: of distinct fingerprints.

    Returns:
        What they came to, by fingerprint.

    Raises:
        UserError: some could not be run; the first of them, and its log, are named.
    """
    return _Jobs(jobs, ruling, nursery, show).run()


@contextmanager
def forking_runs() -> Iterator[Nursery]:
    """A fork server of runs, for ``run_jobs``; while it is there, SIGTERM ends this process as Ctrl-C does.

    Must be entered in the main thread, before this process has threads or a device: runs are forked from it.
    """
    import_training()  # what this process needs, too: once for it and all runs
    nursery = Nursery(lambda: None, run_trial)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield nursery
    finally:
        nursery.close()
        signal.signal(signal.SIGTERM, before)


class _Running(NamedTuple):
    """A run under way.

    Attributes:
        worker: who has it, from 0.
        kills: of the kernel for want of memory, before it.
    """

    job: Job
    worker: int
    kills: int


class _Jobs:
    def __init__(self, jobs: Sequence[Job], ruling: Ruling, nursery: Nursery, show: ShowJobs) -> None:
        self._jobs = jobs
        self._ruling = ruling
        self._nursery = nursery
        self._show = show
        self._ended: dict[str, Ended] = {}
        self._failures: dict[str, int] = {}
        self._broken: list[tuple[Job, str]] = []
        self._waiting: deque[Job] = deque()
        self._running: dict[int, _Running] = {}

    def run(self) -> dict[str, Ended]:
        for job in self._jobs:
            if self._has_ended(job):
                self._ended[job.fingerprint] = self._read(job)
            else:
                self._waiting.append(job)
        self._look(())
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._ruling.workers:
                self._start(self._waiting.popleft())
            self._look([ended for pid, status in self._nursery.ended(_LOOK) for ended in self._buried(pid, status)])
        if self._broken:
            job, reason = self._broken[0]
            more = f" (and {len(self._broken) - 1} others)" if len(self._broken) > 1 else ""
            raise UserError(
                f"{job.name} at seed {job.seed}{more} could not be run: {reason}; see {job.log}; "
                "the same command tries again what has not ended"
            )
        return self._ended

    def _start(self, job: Job) -> None:
        job.folder.parent.mkdir(parents=True, exist_ok=True)
        devices, taken = self._ruling.devices, {one.worker for one in self._running.values()}
        worker = next(one for one in range(self._ruling.workers) if one not in taken)
        request = RunRequest(
            root=str(self._ruling.root),
            experiment=job.name,
            settings=job.settings.model_dump(mode="json"),
            seed=job.seed,
            run=str(job.folder),
            log=str(job.log),
            scores=None if self._ruling.from_journal else str(job.scores),
            devices=devices[worker % len(devices)] if devices else None,
            processes=min(self._ruling.processes, job.settings.mixing.learners),
        )
        kills = count_oom_kills()
        self._running[self._nursery.spawn(request._asdict())] = _Running(job, worker, kills)

    def _buried(self, pid: int, status: int) -> list[Ended]:
        """After a process: what its run came to, if that is known now."""
        job, _, kills = self._running.pop(pid)
        outcome, again, reason = outcome_of_exit(status, count_oom_kills() - kills)
        if outcome in (None, "diverged"):
            ended = self._read(job) if outcome is None else Ended(job, None, reason or last_line(job.log))
            self._ended[job.fingerprint] = ended
            return [ended]
        failures = self._failures[job.fingerprint] = self._failures.get(job.fingerprint, 0) + 1
        if again and failures <= self._ruling.retries:
            self._waiting.appendleft(job)
        else:
            self._broken.append((job, reason or last_line(job.log)))
        return []

    def _has_ended(self, job: Job) -> bool:
        if not job.run.result.exists() or not (self._ruling.from_journal or job.scores.exists()):
            return False
        if job.run.read_result()["fingerprint"] != job.fingerprint:
            raise UserError(f"{job.folder}: holds another run than {job.name}'s; remove it, and it is run again")
        return True

    def _read(self, job: Job) -> Ended:
        if job.run.checkpoints.exists():
            shutil.rmtree(job.run.checkpoints)  # a run that has ended is not gone on with
        result, score = job.run.read_result(), self._score(job)
        if result["outcome"] != "ok" or score is None or not math.isfinite(score):
            return Ended(job, None, result.get("reason") or f"{self._ruling.metric} is {score}")
        return Ended(job, score, None)

    def _score(self, job: Job) -> float | None:
        if self._ruling.from_journal:
            return read_curve(job.run, self._ruling.metric).last
        found = json.loads(job.scores.read_text()).get(self._ruling.metric)
        return None if found is None else float(found)

    def _look(self, news: Sequence[Ended]) -> None:
        done = sum(ended.job.settings.training.steps for ended in self._ended.values())
        under_way = [*(one.job for one in self._running.values()), *self._waiting]
        self._show(
            JobsView(
                news=tuple(news),
                ended=len(self._ended),
                jobs=len(self._jobs),
                step=done + sum(read_curve(job.run, self._ruling.metric).step for job in under_way),
                steps=sum(job.settings.training.steps for job in self._jobs),
            )
        )
