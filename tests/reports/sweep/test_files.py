"""The page as people get it: its numbers, what it says of a sweep in any state, and that it stands alone."""

import json
import re
import shutil
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from gossipgan.errors import UserError
from gossipgan.reports.sweep import Written, write
from gossipgan.sweeps import StudyStorage, default_url

from .conftest import PARAMS, Build, Fake, Study

SPACE = """
space:
  lookahead.kind: joint
  lookahead.k: {int: [2, 50], log: true}
  lookahead.alpha: {float: [0.2, 0.9]}
  training.threads: 1
budget: {trials: 6}
"""

TRIALS = [
    Fake("ok", (9.5,), {"lookahead.k": 5, "lookahead.alpha": 0.5}, {50: 30.0, 100: 9.5}, {"images": 640, "bytes": 0.0}),
    Fake("pruned", None, {"lookahead.k": 40, "lookahead.alpha": 0.3}, {50: 41.0}, {"images": 320, "bytes": 0.0}),
    Fake("ok", (6.25,), {"lookahead.k": 2, "lookahead.alpha": 0.61}, {50: 22.0, 100: 6.25}, {"seconds": 90.0}),
    Fake("diverged", (41.0,), {"lookahead.k": 3, "lookahead.alpha": 0.9}, {50: 1e9}, {"reason": "loss_d is <nan>"}),
    Fake("ok", (6.25,), {"lookahead.k": 2, "lookahead.alpha": 0.61}, {}, {"duplicate_of": 2, "seconds": 0.0}),
]


def _write(study: Study, folder: Path | None = None) -> Written:
    with closing(StudyStorage(default_url(study.root), create=False)) as storage:
        return write(storage, study.name, study.root / "work" / "sweeps", folder or study.root / "out")


class _Page(HTMLParser):
    """A page's text, and its tables as rows of cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.tables: list[list[list[str]]] = []
        self.anchors: list[str] = []
        self.ids: set[str] = set()
        self.outside: list[str] = []
        self._silent = 0
        self._in_cell = False
        self.feed(html)
        self.text = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        self._silent += tag in ("script", "style")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._in_cell = True
        if "id" in about:
            self.ids.add(about["id"] or "")
        for key in ("src", "href", "srcset"):
            target = about.get(key) or ""
            if target.startswith("#"):
                self.anchors.append(target[1:])
            elif target and not target.startswith("data:"):
                self.outside.append(target)

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")
        self._in_cell &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        self.text += data
        if self._in_cell:
            self.tables[-1][-1][-1] += data.strip()

    def table(self, first: str) -> list[list[str]]:
        """The table whose header begins with a word."""
        return next(one for one in self.tables if one[0][0] == first)


@pytest.fixture(scope="module")
def study(build: Build) -> Study:
    """Unfinished: five of six trials."""
    return build(TRIALS, space=SPACE)


@pytest.fixture(scope="module")
def written(study: Study) -> Written:
    folder = study.root / "first"
    folder.mkdir()
    (folder / "mine.png").write_bytes(b"somebody's")
    (folder / "old.png").write_bytes(b"of an earlier page")
    (folder / "report.json").write_text(json.dumps({"pictures": ["old.png", "../params.yaml"]}))
    return _write(study, folder)


def test_the_numbers_are_the_studys(study: Study, written: Written) -> None:
    page = _Page(written.html.read_text())
    told = optuna.load_study(study_name=study.name, storage=f"sqlite:///{study.root / 'sweeps.db'}")
    ok = [trial for trial in told.trials if trial.user_attrs["outcome"] == "ok"]
    best = min(ok, key=lambda trial: trial.value or 0.0)
    gap = 20.0 - (best.value or 0.0)
    assert (best.number, gap) == (2, 13.75)
    assert "Best so far of 5 trials: trial-2 with FID (digits, 2000 samples, ema) 6.25 at seed 1, " in page.text
    assert "13.8 lower than baseline's 20.0 (better)." in page.text
    assert "Not confirmed on fresh seeds" in page.text
    assert "5 of 6 trials: 3 ok, 1 pruned, 1 diverged; not finished" in page.text
    assert "gossipgan sweep export some --as some-best" in page.text
    assert page.table("setting")[1:] == [
        ["lookahead.k", "2", "2 to 50, logat the edge of what was searched; a wider range may hold a better one"],
        ["lookahead.alpha", "0.61", "0.2 to 0.9"],
        ["lookahead.kind", "joint", "fixed"],
        ["training.threads", "1", "fixed"],
    ]
    costs, outcomes = (table for table in page.tables if table[0][0] == "outcome")
    assert costs[0] == ["outcome", "trials", "time", "device hours", "time a trial", "pictures"]
    assert costs[1] == ["ok", "3", "2:30", "0.0417", "0:50", "640"]
    assert costs[-2:] == [
        ["baselines", "1", "0:30", "0.00833", "0:30", "0"],
        ["all", "6", "5:00", "0.0833", "0:50", "960"],
    ]
    assert outcomes[1:] == [
        ["ok", "3", "60 %", "\N{EN DASH}"],
        ["pruned", "1", "20 %", "\N{EN DASH}"],
        ["diverged", "1", "20 %", "loss_d is <nan>(trial-3)"],
    ]
    rows = {row[0]: row for row in page.table("trial")[1:]}
    assert list(rows) == ["baseline", *(f"trial-{number}" for number in range(5))]
    assert rows["baseline"][1:5] == ["ok", "20.0", "\N{EN DASH}", "\N{EN DASH}"]
    assert rows["trial-1"][1:5] == ["pruned", "41.0", "40", "0.3"]
    assert rows["trial-4"][-1] == "same settings as trial-2"


def test_it_stands_alone_and_every_link_leads_somewhere(written: Written) -> None:
    html = written.html.read_text()
    page = _Page(html)
    assert page.outside == []
    assert not re.search(r"https?://|@import|url\(", html.replace("data:image", ""))
    assert {"trial-0", "trial-4", "baseline-baseline"} <= page.ids
    assert page.anchors
    assert set(page.anchors) <= page.ids
    assert {path.name for path in written.html.parent.iterdir()} == {
        "report.html",
        "report.json",
        "best-so-far.png",
        "curves.png",
        "k-alpha.png",
        "slice-lookahead-alpha.png",
        "slice-lookahead-k.png",
        "mine.png",  # and what is not ours stays
    }
    assert (written.html.parents[1] / "params.yaml").read_text() == PARAMS


def test_the_same_sweep_gives_the_same_bytes(study: Study, written: Written) -> None:
    again = _write(study)
    assert again.content == written.content
    for name in ("report.html", "report.json", *written.pictures):
        assert (again.html.parent / name).read_bytes() == (written.html.parent / name).read_bytes(), name
    shutil.rmtree(again.html.parent)


def test_report_json_is_what_was_told(written: Written) -> None:
    content = json.loads((written.html.parent / "report.json").read_text())
    assert content == json.loads(json.dumps(written.content))
    assert [trial["score"] for trial in content["trials"]] == [9.5, 41.0, 6.25, 1e9, 6.25]
    assert (content["best"], content["front"], content["finished"]) == ("trial-2", ["trial-2"], False)
    assert content["counts"] == {"ok": 3, "pruned": 1, "diverged": 1}
    assert content["importances"] == []
    assert content["confirmed"] is False


def test_a_confirmation_comes_first_and_its_best_is_recommended(build: Build) -> None:
    space = "space: {lookahead.kind: joint, lookahead.k: {int: [2, 50]}}\nbudget: {trials: 2}"
    study = build([Fake("ok", (9.5,), {"lookahead.k": 5}), Fake("ok", (6.25,), {"lookahead.k": 2})], space=space)
    path = study.root / "work" / "sweeps" / "some" / "confirmation.json"
    path.parent.mkdir(parents=True)
    confirmation = {
        "metric": "fid_digits_2000_ema",
        "minimize": True,
        "seeds": [7, 8],
        "images": 6400,
        "candidates": [
            {"name": "trial-1", "scores": {"7": 9.0, "8": None}, "mean": 9.0, "low": None, "high": None},
            {"name": "trial-0", "scores": {"7": 8.0, "8": 8.5}, "mean": 8.25, "sentence": "better by 3.00 FID"},
        ],
        "baseline": {"name": "baseline", "scores": {"7": 11.0, "8": 11.5}, "mean": 11.25, "low": 10.0, "high": 12.5},
        "conclusion": "trial-0 is better than baseline.",
        "of another version": {},
    }
    path.write_text(json.dumps(confirmation))
    found = _write(study)
    page = _Page(found.html.read_text())
    assert (found.content["conclusion"], found.content["confirmed"]) == ("trial-0 is better than baseline.", True)
    assert page.text.index("trial-0 is better than baseline.") < page.text.index("On fresh seeds")
    assert "Not confirmed" not in page.text
    assert page.table("settings")[1:] == [
        ["trial-1", "9.00", "\N{EN DASH}", "7:\N{NO-BREAK SPACE}9.00, 8:\N{NO-BREAK SPACE}did not end well"],
        ["trial-0", "8.25", "\N{EN DASH}", "7:\N{NO-BREAK SPACE}8.00, 8:\N{NO-BREAK SPACE}8.50"],
        ["baseline", "11.2", "10.0 to 12.5", "7:\N{NO-BREAK SPACE}11.0, 8:\N{NO-BREAK SPACE}11.5"],
    ]
    assert "Best on fresh seeds: trial-0" in page.text
    assert "gossipgan sweep export some --trial 0 --as some-best" in page.text
    assert "confirmation.png" in found.pictures
    path.write_text("{}")
    assert "Best of 2 trials: trial-1" in _write(study).content["conclusion"]
    path.write_text("{")
    with pytest.raises(UserError, match=r"confirmation\.json: not valid JSON"):
        _write(study)


@pytest.mark.parametrize(
    ("trials", "says"),
    [
        ([], "No trial has ended yet."),
        ([Fake("running", None, {"lookahead.k": 2, "lookahead.alpha": 0.3})], "No trial has ended yet."),
        (
            [
                Fake("diverged", (1e9,), {"lookahead.k": 2, "lookahead.alpha": 0.3}, {50: float("nan")}),
                Fake("crashed", None, {"lookahead.k": 9, "lookahead.alpha": 0.3}, about={"reason": "boom"}),
            ],
            "None of 2 trials has ended well: 1 crashed, 1 diverged.",
        ),
    ],
)
def test_a_sweep_without_a_score_has_a_page(build: Build, trials: list[Fake], says: str) -> None:
    found = _write(build(trials, space=f"{SPACE}baselines: []", baseline=None))
    page = _Page(found.html.read_text())
    assert found.content["conclusion"] == says
    assert says in page.text
    assert "sweep export" not in page.text
    assert found.pictures == ()
    assert len(page.table("trial")) == 1 + len(trials)


def test_a_study_from_before_there_were_several_objectives(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'sweeps.db'}"
    study = optuna.create_study(storage=storage, study_name="old", direction="maximize")
    optuna.create_study(storage=storage, study_name="old.baselines", direction="maximize")
    for key, value in {"file": "sweeps/old.yaml", "score": "is_digits_2000_ema", "seconds": 5.0, "hash": "x"}.items():
        study.set_user_attr(key, value)
    for score in (3.0, 4.0):
        trial = study.ask()
        trial.suggest_categorical("optimizer.update", ["joint", "alternating"])
        trial.set_user_attr("outcome", "ok")
        study.tell(trial, score)
    study.tell(study.ask(), state=TrialState.FAIL)
    found = _write(Study(tmp_path, "old"))
    assert found.content["best"] == "trial-1"
    assert found.content["conclusion"].startswith("Best of 3 trials: trial-1 with IS (digits, 2000 samples, ema) 4.00")
    assert found.pictures == ("best-so-far.png", "slice-optimizer-update.png")


def test_a_wrong_name_or_folder_is_one_line(build: Build, tmp_path: Path) -> None:
    study = build([], space=SPACE)
    with pytest.raises(UserError, match="no sweep 'soem'; there are some; did you mean 'some'"):
        _write(Study(study.root, "soem"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="the report cannot be written there"):
        _write(study, tmp_path / "file")
