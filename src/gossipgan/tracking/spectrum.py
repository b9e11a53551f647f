"""The spectrum of a run, where one was computed, as MLflow metrics.

``spectrum/<name>`` for each number of its summary (``jvf_radius``, ``generator_smallest``, ...), at the last iteration.
"""

import json
from collections.abc import Mapping
from typing import Any

from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory
from gossipgan.tracking.series import Clock


def read_spectrum(run: RunDirectory, result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The summary in ``spectrum.json``; None where there is none, or one of other weights than the run now has.

    Args:
        run: a run that has ended.
        result: the content of its ``result.json``.

    Raises:
        UserError: the file is damaged.
    """
    if not run.spectrum.exists():
        return None
    try:
        content = json.loads(run.spectrum.read_text())
        weights, summary = dict(content["weights"]), dict(content["summary"])
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{run.spectrum}: damaged; run gossipgan spectrum {run.path} again, or delete it") from None
    held = result.get("weights", {})
    return summary if all(held.get(name) == digest for name, digest in weights.items()) else None


def spectrum_metrics(summary: Mapping[str, Any], step: int, clock: Clock) -> list[Any]:
    """A spectrum's summary as ``mlflow.entities.Metric``; what is null there (not finite, not found) is left out."""
    from mlflow.entities import Metric

    time = clock.milliseconds(step)
    return [
        Metric(f"spectrum/{name}", float(value), time, step) for name, value in summary.items() if value is not None
    ]
