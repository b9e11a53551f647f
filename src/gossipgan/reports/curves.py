"""Journals as curves: long-form rows, and mean and range over seeds."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gossipgan.reports.results import RunResult

_COORDINATES = ("event", "step", "images")


class Row(NamedTuple):
    """One value of one run, as ``curves.csv`` has it."""

    experiment: str
    seed: int
    step: int
    images: int
    metric: str
    value: float


class Band(NamedTuple):
    """A curve over seeds: at each x the mean, the least and the greatest value of the seeds that have it."""

    x: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]


def rows(results: Mapping[str, Mapping[int, RunResult]]) -> list[Row]:
    """Every loss and score of every journal."""
    return [
        Row(name, seed, entry["step"], entry["images"], metric, float(value))
        for name, runs in results.items()
        for seed, run in runs.items()
        for entry in run.journal
        for metric, value in entry.items()
        if metric not in _COORDINATES and _is_number(value)
    ]


def as_csv(table: Iterable[Row]) -> str:
    """Rows as CSV with a header line; floats so that reading gives the same number again."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows((*row[:-1], repr(row.value)) for row in table)
    return text.getvalue()


def band(table: Iterable[Row], experiment: str, metric: str, axis: str, seeds: Iterable[int]) -> Band | None:
    """An experiment's curve over some seeds; None if it has no finite value.

    Args:
        axis: ``step`` or ``images``.
        seeds: which seeds count.
    """
    wanted = set(seeds)
    values: dict[int, list[float]] = {}
    for row in table:
        if (row.experiment, row.metric) != (experiment, metric) or row.seed not in wanted:
            continue
        if math.isfinite(row.value):
            values.setdefault(getattr(row, axis), []).append(row.value)
    if not values:
        return None
    at = sorted(values)
    return Band(
        np.array(at, dtype=np.float64),
        np.array([np.mean(values[x]) for x in at], dtype=np.float64),
        np.array([min(values[x]) for x in at], dtype=np.float64),
        np.array([max(values[x]) for x in at], dtype=np.float64),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
