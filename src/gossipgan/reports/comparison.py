"""Experiments against their baseline, over seeds: the numbers, and the files that show them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossipgan.config import Iterate
from gossipgan.errors import UserError
from gossipgan.reports import curves
from gossipgan.reports.results import RunResult, read_results, settings_that_differ
from gossipgan.reports.ruler import FLOOR, MetricName
from gossipgan.reports.statistics import Difference, Spread, paired_difference, sentence, spread
from gossipgan.runs import write_atomic
from gossipgan.tracking.method import describe_method


@dataclass(frozen=True)
class Comparison:
    """Several experiments at several seeds, one of them the baseline.

    Attributes:
        baseline: name of the experiment that the others are held against.
        headline: the iterate that tables and plots show.
        results: runs by experiment (in the given order) and seed.
        metrics: every metric that some run has, floors left out.
        floor: the same metrics of real held-out pictures, by key.
        spreads: over the seeds that ended well, by experiment and metric key.
        differences: from the baseline, by experiment (the baseline left out) and metric key.
        environment: what the numbers depend on beside the settings.
        extractor: what is known of the feature extractor, such as its held-out accuracy.
    """

    baseline: str
    headline: Iterate
    results: dict[str, dict[int, RunResult]]
    metrics: tuple[MetricName, ...]
    floor: dict[str, float]
    spreads: dict[str, dict[str, Spread]]
    differences: dict[str, dict[str, Difference]]
    environment: dict[str, Any]
    extractor: dict[str, Any]

    @property
    def experiments(self) -> tuple[str, ...]:
        return tuple(self.results)

    @property
    def others(self) -> tuple[str, ...]:
        """All experiments but the baseline."""
        return tuple(name for name in self.results if name != self.baseline)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.results[self.baseline])

    @property
    def headlines(self) -> tuple[MetricName, ...]:
        """The metrics of the headline iterate."""
        return tuple(metric for metric in self.metrics if metric.iterate == self.headline)

    def ok_seeds(self, experiment: str) -> tuple[int, ...]:
        """Seeds at which an experiment ended well: the only ones that means are taken over."""
        return tuple(seed for seed, run in self.results[experiment].items() if run.ok)

    def outcome(self, experiment: str) -> str:
        """In words, such as ``3 ok`` or ``2 ok, 1 diverged``."""
        counts: dict[str, int] = {}
        for run in self.results[experiment].values():
            counts[run.outcome] = counts.get(run.outcome, 0) + 1
        return ", ".join(f"{counts[name]} {name}" for name in sorted(counts, key=lambda name: name != "ok"))

    def method(self, experiment: str) -> str:
        return describe_method(next(iter(self.results[experiment].values())).settings)

    def floor_of(self, metric: MetricName) -> tuple[MetricName, float] | None:
        """The floor to stand beside a metric: at its own sample count, or else at the nearest."""
        names = [name for name in map(MetricName.parse, self.floor) if name is not None]
        fitting = [name for name in names if (name.kind, name.extractor) == (metric.kind, metric.extractor)]
        if not fitting:
            return None
        nearest = min(fitting, key=lambda name: abs(name.samples - metric.samples))
        return nearest, self.floor[nearest.key]

    def sentence(self, experiment: str, metric: MetricName) -> str:
        """How an experiment stands to the baseline in one metric, in plain words."""
        return sentence(
            self.differences[experiment][metric.key],
            baseline=self.baseline,
            lower_is_better=metric.lower_is_better,
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything, as ``comparison.json`` has it."""
        return {
            "baseline": self.baseline,
            "headline": self.headline,
            "seeds": list(self.seeds),
            "metrics": {
                metric.key: {"label": metric.label, "lower_is_better": metric.lower_is_better}
                for metric in self.metrics
            },
            "floor": self.floor,
            "experiments": {name: self._experiment(name) for name in self.experiments},
            "settings_that_differ": settings_that_differ(self.results),
            "extractor": self.extractor,
            "environment": self.environment,
        }

    def _experiment(self, name: str) -> dict[str, Any]:
        runs = self.results[name]
        return {
            "method": self.method(name),
            "outcome": self.outcome(name),
            "metrics": {
                key: {
                    "mean": over.mean,
                    "std": over.std,
                    "n": over.n,
                    "seeds": {str(seed): run.scores[key] for seed, run in runs.items() if key in run.scores},
                }
                for key, over in self.spreads[name].items()
            },
            "difference": {
                metric.key: {
                    **self.differences[name][metric.key]._asdict(),
                    "sentence": self.sentence(name, metric),
                }
                for metric in self.metrics
                if name != self.baseline and metric.key in self.differences[name]
            },
            "runs": {
                str(seed): {
                    "fingerprint": run.fingerprint,
                    "outcome": run.outcome,
                    "reason": run.reason,
                    "steps": run.steps,
                    "images": run.images,
                    "not_finite": list(run.not_finite),
                    "weights": run.weights,
                }
                for seed, run in runs.items()
            },
        }


def compare(
    root: Path,
    experiments: Sequence[str],
    seeds: Sequence[int],
    baseline: str,
    headline: Iterate,
    environment: Mapping[str, Any],
) -> Comparison:
    """Compare evaluated runs and write ``reports/`` anew.

    The files hold no time and no host: the same runs give the same bytes.

    Args:
        root: the folder of ``params.yaml``.
        experiments: names, in the order in which to show them.
        seeds: which runs of each.
        baseline: one of ``experiments``.
        headline: the iterate that tables and plots show.
        environment: machine and versions, to be shown.

    Raises:
        UserError: unknown baseline, or a run or metrics file is missing or does not fit the others.
    """
    comparison = gather(root, experiments, seeds, baseline, headline, environment)
    # Half a second of matplotlib that only this needs.
    from gossipgan.reports.page import page
    from gossipgan.reports.plots import plots
    from gossipgan.reports.table import markdown

    table = curves.rows(comparison.results)
    light = plots(comparison, table, dark=False)
    reports = root / "reports"
    for name, picture in light.items():
        write_atomic(reports / "plots" / f"{name}.png", picture)
    for old in (reports / "plots").glob("*.png"):
        if old.stem not in light:
            old.unlink()
    write_atomic(reports / "curves.csv", curves.as_csv(table))
    write_atomic(reports / "comparison.md", markdown(comparison))
    write_atomic(reports / "comparison.html", page(comparison, light, plots(comparison, table, dark=True)))
    write_atomic(
        reports / "comparison.json",
        json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    )
    return comparison


def gather(
    root: Path,
    experiments: Sequence[str],
    seeds: Sequence[int],
    baseline: str,
    headline: Iterate,
    environment: Mapping[str, Any],
) -> Comparison:
    """Read the runs and work out the numbers; writes nothing. Arguments and errors as ``compare``."""
    if not experiments:
        raise UserError(f"{root / 'params.yaml'}: experiments: nothing to compare; name at least one")
    if not seeds:
        raise UserError(f"{root / 'params.yaml'}: seeds: nothing to compare; give at least one")
    if baseline not in experiments:
        raise UserError(
            f"{root / 'params.yaml'}: baseline: no experiment {baseline!r}; there are {', '.join(experiments)}"
        )
    results = read_results(root, experiments, seeds)
    runs = [run for by_seed in results.values() for run in by_seed.values()]
    names = {name for run in runs for name in map(MetricName.parse, run.scores) if name is not None}
    metrics = tuple(sorted((name for name in names if name.iterate != FLOOR), key=lambda name: name.order))
    floor = {
        name.key: next(run.scores[name.key] for run in runs if name.key in run.scores)
        for name in sorted(names, key=lambda name: name.order)
        if name.iterate == FLOOR
    }

    def scores(experiment: str, key: str) -> dict[int, float]:
        by_seed = results[experiment]
        return {seed: run.scores[key] for seed, run in by_seed.items() if run.ok and key in run.scores}

    return Comparison(
        baseline=baseline,
        headline=headline,
        results=results,
        metrics=metrics,
        floor=floor,
        spreads={
            name: {
                metric.key: spread(list(scores(name, metric.key).values()))
                for metric in metrics
                if any(metric.key in run.scores for run in by_seed.values())
            }
            for name, by_seed in results.items()
        },
        differences={
            name: {
                metric.key: paired_difference(scores(name, metric.key), scores(baseline, metric.key))
                for metric in metrics
            }
            for name in results
            if name != baseline
        },
        environment=dict(environment),
        extractor=_read_extractor(root / "extractor" / "extractor.json"),
    )


def _read_extractor(path: Path) -> dict[str, Any]:
    """What the extractor's stage recorded; nothing for an extractor that was not trained here."""
    if not path.exists():
        return {}
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except ValueError:
        raise UserError(f"{path}: not valid JSON; run the extractor stage again") from None
    return content
