"""What a run has said of itself so far, in its journal."""

import math
from pathlib import Path
from typing import NamedTuple

from gossipgan.runs import RunDirectory, read_journal


class Curve(NamedTuple):
    """A run's journal, as far as it goes.

    Attributes:
        step: iterations done at the last entry.
        scores: one metric by iteration; the last may be not finite.
    """

    step: int
    scores: dict[int, float]

    @property
    def last(self) -> float | None:
        """The latest score, if there is one."""
        return next(reversed(self.scores.values()), None)


def read_curve(run: RunDirectory, metric: str) -> Curve:
    """Read a run's journal; it need not be there yet."""
    step, scores = 0, {}
    if run.journal.exists():
        for entry in read_journal(run.journal):
            step = int(entry["step"])
            if entry["event"] == "score" and metric in entry:
                scores[step] = float(entry[metric])
    return Curve(step, scores)


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
