"""``gossipgan sweep report``: the command, over a sweep of which two trials are done."""

import json
from pathlib import Path

import optuna
import pytest

from gossipgan.config import load_params
from gossipgan.sweeps import StudyStorage, default_url, load_sweep
from gossipgan.sweeps.study import choose_study, claim

from .conftest import Gossipgan


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a sweep whose trials scored their k; a third is still to come."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    (tmp_path / "params.yaml").write_text(
        "training: {steps: 100, device: cpu}\nseeds: [1]\nexperiments: {baseline: {}}\ntracking: {mlflow: false}\n"
    )
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps" / "some.yaml").write_text(
        "space: {lookahead.k: {int: [2, 9]}}\nbaselines: []\nbudget: {trials: 3}\n"
    )
    monkeypatch.chdir(tmp_path)
    sweep = load_sweep(tmp_path / "sweeps" / "some.yaml", load_params(tmp_path / "params.yaml"))
    storage = StudyStorage(default_url(tmp_path), create=True)
    choose_study(storage, sweep, "digest", ["fid_digits_2000_ema"], fork=False)
    for _ in range(2):
        taken = claim(storage, sweep, "some", 3, "digest")
        assert taken is not None
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, float(taken.settings.lookahead.k))
    optuna.load_study(study_name="some", storage=storage.optuna).set_user_attr("budget", 3)
    storage.close()
    return tmp_path


def test_it_writes_a_page_and_says_where(gossipgan: Gossipgan, folder: Path) -> None:
    best = json.loads(gossipgan("sweep", "best", "some", "--json").out)
    done = gossipgan("sweep", "report", "some")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].startswith(f"Best so far of 2 trials: {best['name']} with FID (digits, 2000 samples, ema) ")
    assert lines[1].startswith("Not confirmed on fresh seeds")
    assert lines[2] == f"report: {Path('reports', 'sweeps', 'some', 'report.html')}"
    page = folder / "reports" / "sweeps" / "some"
    assert f"Best trial: {best['name']}" in (page / "report.html").read_text()

    told = json.loads(gossipgan("sweep", "report", "some", "--out", "elsewhere", "--json").out)
    assert told == json.loads((page / "report.json").read_text())
    assert told["recommended"] == {"name": best["name"], "export": "gossipgan sweep export some --as some-best"}
    assert {path.name for path in Path("elsewhere").iterdir()} == {path.name for path in page.iterdir()}


def test_a_mistake_is_one_line(gossipgan: Gossipgan) -> None:
    done = gossipgan("sweep", "report", "soem")
    assert done.status == 2
    assert "no sweep 'soem'; there are some; did you mean 'some'?" in done.err
    assert done.err.count("\n") == 1
    assert not Path("reports").exists()
