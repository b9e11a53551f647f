"""A journal as MLflow metrics.

Each number in a run appears under up to three names:

=====================  =======================================================================
``<name>``             the journal's series, by iteration: ``loss_d``, ``fid_digits_2000_ema``
``by_images/<name>``   the same values, by real pictures seen
``final/<name>``       the evaluated run's metrics file: one value, at the last iteration
=====================  =======================================================================

MLflow's pages group charts by what stands before the slash. Values that are not finite are left out
and counted (MLflow stores infinity as 1.8e308, which flattens every chart); the journal has them.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gossipgan.runs import read_journal

#: The most metrics that MLflow takes in one call.
METRICS_AT_ONCE = 1000

_SERIES = ("losses", "score", "mixing")
_COORDINATES = ("event", "step", "images")


def by_images(name: str) -> str:
    """The name under which a series is kept by pictures seen."""
    return f"by_images/{name}"


def final(name: str) -> str:
    """The name under which an evaluated run's metric is kept."""
    return f"final/{name}"


class Clock:
    """Unix time by iteration, between the lines of a run's clock file interpolated."""

    def __init__(self, times: Mapping[int, float], otherwise: float) -> None:
        self._steps = np.array(sorted(times), dtype=float)
        self._times = np.array([times[step] for step in sorted(times)], dtype=float)
        self._otherwise = otherwise

    def milliseconds(self, step: int) -> int:
        """Unix time of an iteration in milliseconds, as MLflow wants it."""
        if not len(self._steps):
            return round(self._otherwise * 1000)
        return round(float(np.interp(step, self._steps, self._times)) * 1000)


def read_clock(path: Path | None, otherwise: float) -> Clock:
    """The clock file of a live run.

    Args:
        path: ``clock.jsonl``; it may be missing, since a published run does not carry it.
        otherwise: Unix time to give to every iteration then.
    """
    times: dict[int, float] = {}
    if path is not None and path.exists():
        # A resumed run writes some iterations a second time: the later line is the one in the journal.
        for entry in read_journal(path):
            times[int(entry["step"])] = float(entry["time"])
    return Clock(times, otherwise)


def series(journal: Path, clock: Clock) -> tuple[list[Any], Counter[str]]:
    """Every number of a journal's series as ``mlflow.entities.Metric``, and how many were left out by name."""
    from mlflow.entities import Metric

    metrics: list[Any] = []
    left_out: Counter[str] = Counter()
    for entry in read_journal(journal):
        if entry["event"] not in _SERIES:
            continue
        time = clock.milliseconds(entry["step"])
        for name, value in _numbers(entry):
            if not math.isfinite(value):
                left_out[name] += 1
                continue
            metrics.append(Metric(name, value, time, entry["step"]))
            if "images" in entry:
                metrics.append(Metric(by_images(name), value, time, entry["images"]))
    return metrics, left_out


def finals(values: Mapping[str, float | str], step: int, clock: Clock) -> tuple[list[Any], Counter[str]]:
    """A metrics file as ``mlflow.entities.Metric``, and which were left out."""
    from mlflow.entities import Metric

    metrics: list[Any] = []
    left_out: Counter[str] = Counter()
    for name, value in _numbers(values):
        if math.isfinite(value):
            metrics.append(Metric(final(name), value, clock.milliseconds(step), step))
        else:
            left_out[final(name)] += 1
    return metrics, left_out


def _numbers(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if name not in _COORDINATES and isinstance(value, int | float) and not isinstance(value, bool):
            yield name, float(value)
