"""The comparison as a markdown table."""

import math

from gossipgan.reports.comparison import Comparison
from gossipgan.reports.ruler import MetricName
from gossipgan.reports.statistics import Spread, number


def cell(over: Spread | None) -> str:
    """Mean and standard deviation over seeds, to two digits of the latter, such as ``15.2 ± 1.1``."""
    if over is None or over.mean is None:
        return "-"
    if not over.std:
        return number(over.mean) if over.std is None else f"{number(over.mean)} ± 0"
    decimals = min(6, max(0, 1 - math.floor(math.log10(over.std))))
    return f"{over.mean:.{decimals}f} ± {over.std:.{decimals}f}"


def floor_cell(comparison: Comparison, metric: MetricName) -> str:
    """The floor of a metric, with its count where that is not the metric's own."""
    found = comparison.floor_of(metric)
    if found is None:
        return "-"
    name, value = found
    return number(value) if name.samples == metric.samples else f"{number(value)} (at {name.samples})"


def verdicts(comparison: Comparison, experiment: str) -> list[str]:
    """One plain sentence for each headline metric."""
    return [f"{metric.label}: {comparison.sentence(experiment, metric)}." for metric in comparison.headlines]


def markdown(comparison: Comparison) -> str:
    """Table of the headline metrics with their floors, and a sentence for each."""
    header = ["", "outcome", *(metric.label for metric in comparison.headlines)]
    lines = [
        f"# Comparison with {comparison.baseline}",
        "",
        _row(header),
        _row(["---"] * len(header)),
    ]
    for name in comparison.experiments:
        title = f"**{name}** (baseline)" if name == comparison.baseline else f"**{name}**"
        cells = [cell(comparison.spreads[name].get(metric.key)) for metric in comparison.headlines]
        lines.append(_row([title, comparison.outcome(name), *cells]))
    floors = [floor_cell(comparison, metric) for metric in comparison.headlines]
    lines.append(_row(["*floor: real held-out pictures*", "", *floors]))
    lines += [
        "",
        f"Mean ± sample standard deviation over seeds {', '.join(map(str, comparison.seeds))}; "
        "diverged runs are left out of means. Lower is better for FID and KID, higher for the others.",
        "",
    ]
    for name in comparison.others:
        lines += [f"## {name}", "", f"{comparison.method(name)}", ""]
        lines += [f"- {text}" for text in verdicts(comparison, name)]
        lines.append("")
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
