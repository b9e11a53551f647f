"""The files of a sweep's page: ``report.html``, the same plots as PNG, and the numbers as ``report.json``."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.errors import UserError
from gossipgan.reports.sweep import summary
from gossipgan.reports.sweep.page import page
from gossipgan.reports.sweep.plots import Plots, draw_all
from gossipgan.reports.sweep.record import read
from gossipgan.runs import write_atomic
from gossipgan.sweeps import StudyStorage


class Written(NamedTuple):
    """What was written.

    Attributes:
        html: the page.
        pictures: names of the PNG files beside it.
        content: as ``report.json`` has it.
    """

    html: Path
    pictures: tuple[str, ...]
    content: dict[str, Any]


def write(storage: StudyStorage, name: str, work: Path, folder: Path) -> Written:
    """Write a sweep's page, finished or not. The same sweep gives the same bytes.

    Args:
        work: the folder of all sweeps' runs.
        folder: made where it is missing; pictures of an earlier page that are no longer drawn are removed.

    Raises:
        UserError: there is no such sweep, or the folder cannot be written to.
    """
    record = read(storage, name, work)
    plots = draw_all(record)
    pictures = {f"{plot.name}.png": plot.light for plot in plots.all}
    content = _plain({**summary.as_json(record), **_numbers(plots), "pictures": sorted(pictures)})
    html = folder / "report.html"
    try:
        old = _pictures_of(folder / "report.json")
        for file, picture in pictures.items():
            write_atomic(folder / file, picture)
        write_atomic(html, page(record, plots))
        write_atomic(folder / "report.json", json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        for file in old - set(pictures):
            (folder / file).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: the report cannot be written there ({error.strerror})") from None
    return Written(html, tuple(sorted(pictures)), content)


def _numbers(plots: Plots) -> dict[str, Any]:
    return {
        "importances": [
            {"metric": metric, "when": rated.when, "trials": rated.trials, "log": rated.log, "shares": rated.shares}
            for metric, rated, _ in plots.importances
        ],
        "trades": [
            {"x": one.x, "y": one.y, "points": one.points, "front": one.front, "baselines": one.beside}
            for one, _ in plots.trades
        ],
    }


def _pictures_of(report: Path) -> set[str]:
    """Names of an earlier page's pictures: plain names that end in .png, whatever the file says."""
    try:
        names = json.loads(report.read_text(encoding="utf-8"))["pictures"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {name for name in names if isinstance(name, str) and name.endswith(".png") and name == Path(name).name}


def _plain(content: Any) -> Any:
    """For JSON: what is no finite number becomes null."""
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content
