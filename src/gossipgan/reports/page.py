"""The comparison as one self-contained page: no request leaves it, so that it works offline and in a mail."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from gossipgan.reports.comparison import Comparison
from gossipgan.reports.results import settings_that_differ
from gossipgan.reports.ruler import extractor_name
from gossipgan.reports.statistics import number
from gossipgan.reports.table import cell, floor_cell


class Picture(NamedTuple):
    """A plot for both grounds, as data URIs, and what it shows in words."""

    light: str
    dark: str
    alt: str


#: Seeds whose samples are shown: more than this many rows would only make the page long.
SAMPLE_ROWS = 3


def page(comparison: Comparison, light: Mapping[str, bytes], dark: Mapping[str, bytes]) -> str:
    """The page's HTML.

    Args:
        light, dark: plots by name for the two grounds.
    """
    environment = Environment(
        loader=PackageLoader("gossipgan.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    first = comparison.results[comparison.baseline][comparison.seeds[0]]
    evaluation = first.settings.evaluation

    def pictures(*names: str) -> list[Picture]:
        return [
            Picture(data_uri(light[name]), data_uri(dark[name]), name.replace("_", " "))
            for name in names
            if name in light
        ]

    def verdict(experiment: str) -> str:
        """Style of the first headline's sentence."""
        metric = comparison.headlines[0]
        difference = comparison.differences[experiment][metric.key]
        return difference.verdict(lower_is_better=metric.lower_is_better) or "none"

    return environment.get_template("comparison.html.j2").render(
        comparison=comparison,
        cell=cell,
        floor_cell=floor_cell,
        number=number,
        show=show_setting,
        verdict=verdict,
        curves=pictures("fid_by_step", "fid_by_images", "loss_d_by_step", "loss_g_by_step"),
        finals=pictures(*(f"final_{metric.kind}" for metric in comparison.headlines)),
        sample_rows=_sample_rows(comparison),
        differing=settings_that_differ(comparison.results),
        extractor_name=extractor_name(first.settings.extractor),
        extractor=first.settings.extractor,
        evaluation=evaluation,
        data=first.settings.data,
        floor_elsewhere=any(
            found is not None and found[0].samples != metric.samples
            for metric in comparison.headlines
            for found in [comparison.floor_of(metric)]
        ),
        data_digest=first.data_digest,
        budgets={
            name: sorted({(run.steps, run.images) for run in runs.values() if run.ok})
            for name, runs in comparison.results.items()
        },
    )


def _sample_rows(comparison: Comparison) -> list[tuple[int, list[tuple[str, str | None, str]]]]:
    """Seed, and for each experiment its name, its last grid as data URI, and what there is to say of it."""
    rows = []
    for seed in comparison.seeds[:SAMPLE_ROWS]:
        row: list[tuple[str, str | None, str]] = []
        for name, runs in comparison.results.items():
            run = runs[seed]
            if run.samples is None:
                row.append((name, None, f"{run.outcome}, no samples"))
                continue
            note = f"iteration {_step(run.samples)}" + ("" if run.ok else f", {run.outcome}")
            row.append((name, data_uri(run.samples.read_bytes()), note))
        rows.append((seed, row))
    return rows


def _step(grid: Path) -> int:
    return int(grid.stem.removeprefix("step-"))


def data_uri(content: bytes) -> str:
    """A PNG within a page."""
    return "data:image/png;base64," + base64.b64encode(content).decode()


def show_setting(value: Any) -> str:
    """A setting as a person would write it in ``params.yaml``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(show_setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
