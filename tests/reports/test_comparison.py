import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gossipgan.errors import UserError
from gossipgan.reports import Comparison, compare
from gossipgan.reports.comparison import gather
from gossipgan.runs import read_journal

Build = Callable[..., Path]
NAMES = ("baseline", "lookahead")
KEY = "fid_digits_2000_ema"


def _compare(root: Path, seeds: tuple[int, ...] = (1, 2, 3), names: tuple[str, ...] = NAMES) -> Comparison:
    return compare(root, names, seeds, "baseline", "ema", {"device": "cpu", "threads": 2})


def _gather(root: Path, seeds: tuple[int, ...] = (1, 2, 3), baseline: str = "baseline") -> Comparison:
    return gather(root, NAMES, seeds, baseline, "ema", {})


def _metric(root: Path, name: str, seed: int) -> float:
    value: float = json.loads((root / "metrics" / name / f"seed-{seed}.json").read_text())[KEY]
    return value


def test_json_holds_the_means_the_metrics_files_give(build: Build) -> None:
    root = build()
    content = _gather(root).as_dict()
    values = [_metric(root, "lookahead", seed) for seed in (1, 2, 3)]
    entry = content["experiments"]["lookahead"]["metrics"][KEY]
    assert entry["mean"] == pytest.approx(np.mean(values))
    assert entry["std"] == pytest.approx(np.std(values, ddof=1))
    result = json.loads((root / "runs" / "lookahead" / "seed-2" / "result.json").read_text())
    recorded = content["experiments"]["lookahead"]["runs"]["2"]
    assert recorded["weights"] == result["weights"]
    assert recorded["fingerprint"] == result["fingerprint"]
    assert content["floor"]["fid_digits_1000_floor"] == 0.42
    assert set(content["settings_that_differ"]) == {"lookahead.kind"}


def test_a_diverged_run_is_counted_and_left_out_of_means(build: Build) -> None:
    root = build(diverged=(("lookahead", 2),))
    comparison = _gather(root)
    assert comparison.outcome("lookahead") == "2 ok, 1 diverged"
    over = comparison.spreads["lookahead"][KEY]
    assert over.n == 2
    assert over.mean == pytest.approx(np.mean([_metric(root, "lookahead", seed) for seed in (1, 3)]))
    assert comparison.differences["lookahead"][KEY].seeds == (1, 3)


def test_page_is_self_contained_and_files_are_the_same_each_time(build: Build) -> None:
    root = build(seeds=(1, 2), diverged=(("lookahead", 2),))
    _compare(root, (1, 2))
    first = {path: path.read_bytes() for path in (root / "reports").rglob("*") if path.is_file()}
    page = (root / "reports" / "comparison.html").read_text()
    assert "http:" not in page
    assert "https:" not in page
    assert all(source.startswith("data:") for source in re.findall(r'(?:src|srcset|href)="([^"]*)"', page))
    assert not re.search(r"url\(|@import|<script", page)
    assert "2 ok" in page
    assert "1 ok, 1 diverged" in page
    assert "loss_d is nan" in page
    assert "98.40 %" in page
    assert str(root) not in page
    # FID never stands without its ruler.
    assert not re.search(r"FID(?! \((?:digits)| and KID)", re.sub(r'"data:[^"]*"', "", page))
    expected = {"fid_by_step", "fid_by_images", "loss_d_by_step", "final_fid", "final_recall", "samples"}
    assert expected <= {path.stem for path in (root / "reports" / "plots").iterdir()}
    _compare(root, (1, 2))
    assert first == {path: path.read_bytes() for path in first}


def test_curves_equal_the_journals(build: Build) -> None:
    root = build(experiments=("baseline",), seeds=(1,))
    compare(root, ("baseline",), (1,), "baseline", "ema", {})
    with (root / "reports" / "curves.csv").open() as file:
        rows = {(row["step"], row["metric"]): row for row in csv.DictReader(file)}
    entries = [e for e in read_journal(root / "runs/baseline/seed-1/journal.jsonl") if "loss_d" in e or KEY in e]
    expected = {
        (str(entry["step"]), name): (entry["images"], value)
        for entry in entries
        for name, value in entry.items()
        if name not in ("event", "step", "images")
    }
    assert {key: (int(row["images"]), float(row["value"])) for key, row in rows.items()} == expected


def test_one_seed_has_no_standard_deviation_and_the_page_says_so(build: Build) -> None:
    root = build(seeds=(4,), channels=3)
    comparison = _compare(root, (4,))
    assert comparison.spreads["baseline"][KEY].std is None
    assert "nobody can know the spread" in (root / "reports" / "comparison.html").read_text()


def test_a_score_that_is_not_finite_is_shown_as_such_and_not_averaged(build: Build) -> None:
    root = build(seeds=(1, 2))
    path = root / "metrics" / "lookahead" / "seed-1.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), KEY: math.nan}))
    comparison = _gather(root, (1, 2))
    assert comparison.spreads["lookahead"][KEY].n == 1
    assert comparison.results["lookahead"][1].not_finite == (KEY,)


def test_a_missing_metrics_file_is_one_line_that_names_it(build: Build) -> None:
    root = build(seeds=(1,))
    (root / "metrics" / "lookahead" / "seed-1.json").unlink()
    with pytest.raises(UserError, match=r"metrics/lookahead/seed-1\.json: no such file") as error:
        _gather(root, (1,))
    assert "\n" not in str(error.value)


def test_a_damaged_metrics_file_is_named(build: Build) -> None:
    root = build(seeds=(1,))
    (root / "metrics" / "lookahead" / "seed-1.json").write_text("{")
    with pytest.raises(UserError, match=r"seed-1\.json: not valid JSON"):
        _gather(root, (1,))


def test_an_unknown_baseline_is_refused_and_nothing_is_written(build: Build) -> None:
    root = build(seeds=(1,))
    with pytest.raises(UserError, match="baseline: no experiment 'adam'; there are baseline, lookahead"):
        compare(root, NAMES, (1,), "adam", "ema", {})
    assert not (root / "reports").exists()


def test_runs_on_another_ruler_are_refused(build: Build) -> None:
    root = build(seeds=(1,))
    path = root / "runs" / "lookahead" / "seed-1" / "settings.yaml"
    path.write_text(path.read_text().replace("noise_seed: 0", "noise_seed: 1"))
    with pytest.raises(UserError, match="section evaluation is not that of baseline"):
        _gather(root, (1,))
