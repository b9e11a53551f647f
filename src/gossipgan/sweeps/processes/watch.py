"""What a run has said of itself so far, in its journal."""

import math
from pathlib import Path
from typing import NamedTuple

from gossipgan.runs import JournalReader, RunDirectory


class Curve(NamedTuple):
    """A run's journal, as far as it goes.

    Attributes:
        step: iterations done at the last entry.
        images: pictures seen by all learners.
        sent: bytes sent by all learners.
        scores: one metric by iteration; the last may be not finite.
    """

    step: int
    images: int
    sent: int
    scores: dict[int, float]

    @property
    def last(self) -> float | None:
        """The latest score, if there is one."""
        return next(reversed(self.scores.values()), None)


class CurveReader:
    """Reads a run's journal as it grows; it need not be there yet."""

    def __init__(self, run: RunDirectory, metric: str) -> None:
        self._journal = JournalReader(run.journal)
        self._metric = metric
        self._curve = Curve(0, 0, 0, {})

    def read(self) -> Curve:
        """All of it so far."""
        entries, anew = self._journal.read()
        step, images, sent, scores = Curve(0, 0, 0, {}) if anew else self._curve
        for entry in entries:
            step = int(entry["step"])
            images = int(entry.get("images", images))
            sent = int(entry.get("bytes", sent))
            if entry["event"] == "score" and self._metric in entry:
                scores[step] = float(entry[self._metric])
        self._curve = Curve(step, images, sent, scores)
        return self._curve


def read_curve(run: RunDirectory, metric: str) -> Curve:
    """Read a run's journal; it need not be there yet."""
    return CurveReader(run, metric).read()


class Spent(NamedTuple):
    """What the runs of a trial have used so far, all seeds together.

    Attributes:
        step: iterations done.
        images: training pictures seen by all learners; None where there is no run.
        sent: bytes sent by all learners in one run, the mean over those that were begun; None where there is none.
        seconds: of training.
        score: the latest, by one metric, of the last run that has one.
    """

    step: int = 0
    images: int | None = None
    sent: float | None = None
    seconds: float = 0.0
    score: float | None = None

    def left(self, steps: int) -> float | None:
        """Seconds that the rest of so many iterations will take, at the speed so far."""
        return self.seconds / self.step * max(0, steps - self.step) if self.step else None


class SpentReader:
    """Reads the journals and clocks of a trial's runs as they grow; they need not be there yet."""

    def __init__(self, folder: Path, metric: str) -> None:
        self._folder = folder
        self._metric = metric
        self._runs: dict[Path, tuple[CurveReader, _ClockReader]] = {}

    def read(self) -> Spent:
        """What they have used so far."""
        paths = sorted(self._folder.glob("seed-*/"))
        for path in paths:
            if path not in self._runs:
                run = RunDirectory(path)
                self._runs[path] = CurveReader(run, self._metric), _ClockReader(run)
        if not paths:
            return Spent()
        curves = [self._runs[path][0].read() for path in paths]
        return Spent(
            step=sum(curve.step for curve in curves),
            images=sum(curve.images for curve in curves),
            sent=sum(curve.sent for curve in curves) / len(curves),
            seconds=sum(self._runs[path][1].read() for path in paths),
            score=next((curve.last for curve in reversed(curves) if curve.last is not None), None),
        )


class _ClockReader:
    """Reads a run's clock as it grows."""

    def __init__(self, run: RunDirectory) -> None:
        self._clock = JournalReader(run.clock)
        self._seconds = 0.0

    def read(self) -> float:
        """Seconds of training."""
        entries, anew = self._clock.read()
        self._seconds = max((float(entry["seconds"]) for entry in entries), default=0.0 if anew else self._seconds)
        return self._seconds


def read_spent(folder: Path, metric: str) -> Spent:
    """Read the journals and clocks of a trial's runs; they need not be there yet."""
    return SpentReader(folder, metric).read()


def worst(values: list[float], *, minimize: bool) -> float | None:
    """The worst finite value, if there is one."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return None
    return max(finite) if minimize else min(finite)


def last_line(path: Path) -> str:
    """The last line of a log that says something."""
    if not path.exists():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
