"""The supervisor: watches over the workers of a start, and sees to it that nothing is lost."""

import signal
import time
from types import FrameType
from typing import NamedTuple, Protocol

from gossipgan.sweeps.search import Sweep
from gossipgan.sweeps.study import OPEN, Onlooker, Show, StudyStorage, prospects, recover

#: Seconds between looks at the study: at least, and at most where a look takes long.
_LOOK, _LONGEST = 1.0, 10.0
#: The most of its time that looking may take.
_SHARE = 0.05
#: Seconds after which the time that the sweep has been running is noted in the study.
_TICK = 10.0
#: Seconds between searches for trials whose workers are no more.
_RECOVER = 15.0
#: How often a worker that has died is replaced, for each of the workers, until a trial ends.
_REPLACEMENTS = 3


class Ended(NamedTuple):
    """How a start of a sweep ended.

    Attributes:
        study: its name.
        why: ``done``, ``timeout``, ``stop`` (asked for by ``sweep stop``), ``interrupted``, ``terminated`` (by SIGTERM)
            or ``workers`` (they died again and again).
    """

    study: str
    why: str


class Workers(Protocol):
    """Workers of one start of a sweep, wherever they run."""

    @property
    def living(self) -> int: ...

    def start(self) -> int:
        """As many as are missing; returns how many these were."""

    def look(self, seconds: float) -> bool:
        """Wait a while for news; whether a worker has died."""

    def stop(self) -> None:
        """Let every worker put its trial back, and wait for them."""

    def kill(self) -> None:
        """End them at once."""


class Supervisor:
    """Watches over the workers of one start.

    Args:
        wanted: how many workers there are to be.
        timeout: seconds, after which this start ends; None: no limit of this kind.
        to_the_end: stay until the sweep is done, wherever it runs; else until nothing is left to take.
    """

    def __init__(
        self,
        sweep: Sweep,
        study: str,
        storage: StudyStorage,
        workers: Workers,
        show: Show,
        *,
        wanted: int,
        timeout: float | None,
        to_the_end: bool,
    ) -> None:
        self._sweep = sweep
        self._study = study
        self._storage = storage
        self._workers = workers
        self._wanted = wanted
        self._timeout = timeout
        self._show = show
        self._to_the_end = to_the_end
        self._folder = sweep.params.path.parent.resolve() / "work" / "sweeps" / study
        self._why: str | None = None
        self._in_vain = 0
        self._ended = -1
        self._recovered = 0.0
        self._began, self._ticked = time.monotonic(), time.time()
        self._onlooker = Onlooker(storage, study, self._folder.parent)
        self._now = self._onlooker.look()
        self._spent = self._now.spent
        self._pause = _LOOK

    def run(self) -> Ended:
        """Until there is a reason to end."""
        self._folder.mkdir(parents=True, exist_ok=True)
        before = {number: signal.signal(number, self._interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._recover()
            self._look()  # what had ended before is no news
            while self._why is None:
                self._why = self._go_on()
            self._workers.stop()
            self._tick()
            recover(self._storage, self._study)
            self._look()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return Ended(self._study, self._why)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and self._why == "interrupted":  # asked for again: at once
            self._workers.kill()
        # Slurm sends SIGTERM more than once, and means no more by it.
        self._why = "interrupted" if number == signal.SIGINT else "terminated"

    def _go_on(self) -> str | None:
        """Start workers where they are missing, wait, and look; why it is to end, if it is."""
        if self._workers.living < self._wanted or not self._now.running:
            ahead = prospects(self._storage, self._sweep, self._study, self._now.budget)
            if not ahead.left and (not ahead.running if self._to_the_end else not self._workers.living):
                return "done"
            if ahead.left and self._in_vain > self._wanted * _REPLACEMENTS:
                return "workers"
            if ahead.left:
                self._in_vain += self._workers.start()
        died = self._wait()
        if died or time.monotonic() - self._recovered > _RECOVER:
            self._recover()
        self._look()
        ended = sum(one.state not in OPEN for one in self._now.trials)
        if ended != self._ended:
            self._ended, self._in_vain = ended, 0
        if time.time() - self._ticked > _TICK:
            self._tick()
        return self._why or self._limit()

    def _wait(self) -> bool:
        """Until it is time to look, or a worker ends; whether one has died."""
        living, until = self._workers.living, time.monotonic() + self._pause
        while True:
            died = self._workers.look(_LOOK)
            if died or self._workers.living != living or self._why is not None or time.monotonic() >= until:
                return died

    def _look(self) -> None:
        began = time.monotonic()
        self._now = self._onlooker.look()._replace(spent=self._running_for())
        self._show(self._now)
        self._pause = min(_LONGEST, max(_LOOK, (time.monotonic() - began) / _SHARE))

    def _running_for(self) -> float:
        """Seconds of all starts, as far as this one knows."""
        return self._spent + max(0.0, time.time() - self._ticked)

    def _recover(self) -> None:
        self._recovered = time.monotonic()
        recover(self._storage, self._study)

    def _tick(self) -> None:
        """Note the time that the sweep has been running; the same second on several hosts counts once."""
        self._spent = self._storage.patiently(self._tick_in_turn)

    def _tick_in_turn(self) -> float:
        import optuna

        with self._storage.turn(self._study):
            study = optuna.load_study(study_name=self._study, storage=self._storage.optuna)
            about, now = study.user_attrs, time.time()
            since = max(self._ticked, float(about.get("ticked", 0.0)))
            spent = float(about["seconds"]) + max(0.0, now - since)
            study.set_user_attr("seconds", spent)
            study.set_user_attr("ticked", max(now, since))
        self._ticked = now
        return spent

    def _limit(self) -> str | None:
        """Why it is to stop, if it is."""
        budget = self._sweep.settings.budget
        if self._now.stop:
            return "stop"
        if self._timeout is not None and time.monotonic() - self._began > self._timeout:
            return "timeout"
        if budget.time is not None and self._now.spent > budget.time:
            return "timeout"
        if budget.device_hours is not None and self._now.seconds / 3600 > budget.device_hours:
            return "timeout"
        return None
