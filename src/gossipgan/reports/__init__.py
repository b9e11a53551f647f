"""Experiments compared over seeds: statistics, tables, plots, the page."""

from gossipgan.reports.comparison import Comparison, compare
from gossipgan.reports.ruler import MetricName
from gossipgan.reports.statistics import Difference, Spread, paired_difference, sentence, spread
from gossipgan.reports.verification import Verdict, verify_project

__all__ = [
    "Comparison",
    "Difference",
    "MetricName",
    "Spread",
    "Verdict",
    "compare",
    "paired_difference",
    "sentence",
    "spread",
    "verify_project",
]
