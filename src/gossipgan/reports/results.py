"""What the runs came to, read from their directories and metrics files."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.config import Settings, flatten
from gossipgan.errors import UserError
from gossipgan.reports.ruler import MetricName
from gossipgan.runs import RunDirectory, read_journal

#: Settings that are one ruler for everything that is compared.
_SHARED = ("data", "extractor", "evaluation")


class RunResult(NamedTuple):
    """One run, evaluated.

    Attributes:
        scores: finite metrics of the metrics file, by key; floors among them.
        not_finite: keys of the metrics that were not finite.
        journal: entries ``losses`` and ``score``, in order.
        samples: the last grid of samples, if there is one.
    """

    experiment: str
    seed: int
    settings: Settings
    fingerprint: str
    data_digest: str
    outcome: str
    reason: str | None
    steps: int
    images: int
    weights: dict[str, str]
    scores: dict[str, float]
    not_finite: tuple[str, ...]
    journal: tuple[dict[str, Any], ...]
    samples: Path | None

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"


def read_results(root: Path, experiments: Sequence[str], seeds: Sequence[int]) -> dict[str, dict[int, RunResult]]:
    """All runs, by experiment and seed.

    Raises:
        UserError: a metrics file or a run is missing, damaged, or was made with other settings than the
            runs it is to be compared with.
    """
    results = {name: {seed: _read(root, name, seed) for seed in seeds} for name in experiments}
    first = results[experiments[0]][seeds[0]]
    for name, runs in results.items():
        for seed, run in runs.items():
            where = f"{root / 'runs' / name / f'seed-{seed}'}: settings.yaml"
            if run.settings != runs[seeds[0]].settings:
                key = _first_difference(run.settings, runs[seeds[0]].settings)
                raise UserError(f"{where}: {key} is not that of seed {seeds[0]}; run dvc repro")
            for section in _SHARED:
                if getattr(run.settings, section) != getattr(first.settings, section):
                    raise UserError(f"{where}: section {section} is not that of {experiments[0]}; run dvc repro")
            if run.data_digest != first.data_digest:
                raise UserError(f"{where}: data_digest is not that of {experiments[0]}; run dvc repro")
    return results


def settings_that_differ(results: Mapping[str, Mapping[int, RunResult]]) -> dict[str, dict[str, Any]]:
    """Dotted settings that are not the same in all experiments: value by experiment, by key."""
    flat = {name: _flat(next(iter(runs.values())).settings) for name, runs in results.items()}
    keys = next(iter(flat.values()))
    return {
        key: {name: values[key] for name, values in flat.items()}
        for key in keys
        if len({json.dumps(values[key]) for values in flat.values()}) > 1
    }


def _read(root: Path, experiment: str, seed: int) -> RunResult:
    scores, not_finite = _read_metrics(root / "metrics" / experiment / f"seed-{seed}.json")
    run = RunDirectory(root / "runs" / experiment / f"seed-{seed}")
    settings, identity = run.read_settings()
    result = run.read_result()
    if not run.journal.exists():
        raise UserError(f"{run.journal}: no such file; run dvc repro to train this run")
    entries = tuple(read_journal(run.journal))
    ends = [entry for entry in entries if entry["event"] == "end"]
    grids = sorted(run.samples.glob("step-*.png"))
    return RunResult(
        experiment=experiment,
        seed=seed,
        settings=settings,
        fingerprint=str(identity["fingerprint"]),
        data_digest=str(identity["data_digest"]),
        outcome=str(result["outcome"]),
        reason=ends[-1].get("reason") if ends else None,
        steps=int(result["steps"]),
        images=int(result["images"]),
        weights=dict(result["weights"]),
        scores=scores,
        not_finite=not_finite,
        journal=tuple(entry for entry in entries if entry["event"] in ("losses", "score")),
        samples=grids[-1] if grids else None,
    )


def _read_metrics(path: Path) -> tuple[dict[str, float], tuple[str, ...]]:
    if not path.exists():
        raise UserError(f"{path}: no such file; run dvc repro to train and evaluate this run first")
    try:
        content = json.loads(path.read_text())
    except ValueError:
        raise UserError(f"{path}: not valid JSON; run the evaluate stage again") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: metrics by name are wanted; run the evaluate stage again")
    scores: dict[str, float] = {}
    not_finite: list[str] = []
    for key, value in content.items():
        if MetricName.parse(key) is None:
            continue
        try:
            score = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise UserError(f"{path}: {key}: a number is wanted, not {value!r}") from None
        if math.isfinite(score):
            scores[key] = score
        else:
            not_finite.append(key)
    return scores, tuple(not_finite)


def _flat(settings: Settings) -> dict[str, Any]:
    return flatten(settings.model_dump(mode="json", exclude={"tracking"}))


def _first_difference(settings: Settings, other: Settings) -> str:
    ours, theirs = _flat(settings), _flat(other)
    return next((key for key in ours if ours[key] != theirs[key]), "tracking")
