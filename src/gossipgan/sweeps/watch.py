"""What a run has said of itself so far, in its journal."""

import math
from pathlib import Path
from typing import NamedTuple

from gossipgan.runs import RunDirectory, read_journal


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


def read_curve(run: RunDirectory, metric: str) -> Curve:
    """Read a run's journal; it need not be there yet."""
    step, images, sent = 0, 0, 0
    scores: dict[int, float] = {}
    if run.journal.exists():
        for entry in read_journal(run.journal):
            step = int(entry["step"])
            images = int(entry.get("images", images))
            sent = int(entry.get("bytes", sent))
            if entry["event"] == "score" and metric in entry:
                scores[step] = float(entry[metric])
    return Curve(step, images, sent, scores)


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


def read_spent(folder: Path, metric: str) -> Spent:
    """Read the journals and clocks of a trial's runs; they need not be there yet."""
    curves, seconds = [], 0.0
    for path in sorted(folder.glob("seed-*/")):
        run = RunDirectory(path)
        curves.append(read_curve(run, metric))
        if run.clock.exists():
            seconds += max((float(entry["seconds"]) for entry in read_journal(run.clock)), default=0.0)
    if not curves:
        return Spent()
    return Spent(
        step=sum(curve.step for curve in curves),
        images=sum(curve.images for curve in curves),
        sent=sum(curve.sent for curve in curves) / len(curves),
        seconds=seconds,
        score=next((curve.last for curve in reversed(curves) if curve.last is not None), None),
    )


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
