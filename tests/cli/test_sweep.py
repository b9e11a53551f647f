"""``gossipgan sweep``: mistakes, before anything is started; and what is shown of a sweep without one."""

import json
from pathlib import Path

import optuna
import pytest

from gossipgan.config import load_params
from gossipgan.sweeps import StudyStorage, default_url, load_sweep
from gossipgan.sweeps.study import choose_study, claim

from .conftest import Gossipgan

PARAMS = "training: {steps: 100, device: cpu}\nexperiments: {baseline: {}}\n"
TORN = """
space: {mixing.kind: gossip, mixing.learners: 3, mixing.topology: custom, mixing.file: no.edges}
budget: {trials: 3}
"""
SPACE = "space: {lookahead.k: {int: [2, 9]}}\nbaselines: []\nbudget: {trials: 3}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps" / "some.yaml").write_text(SPACE)
    (tmp_path / "sweeps" / "torn.yaml").write_text(TORN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def swept(folder: Path) -> Path:
    """A folder with a sweep of which two trials are done, scored by their k, and one waits."""
    _begin(folder, 2)
    return folder


def _begin(folder: Path, trials: int) -> None:
    """A sweep of which so many trials are done, scored by their k."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sweep = load_sweep(folder / "sweeps" / "some.yaml", load_params(folder / "params.yaml"))
    storage = StudyStorage(default_url(folder), create=True)
    choose_study(storage, sweep, "digest", ["fid_digits_2000_ema"], fork=False)
    for _ in range(trials):
        taken = claim(storage, sweep, "some", 3, "digest")
        assert taken is not None
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, float(taken.settings.lookahead.k))
    storage.close()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("run nowhere.yaml", "nowhere.yaml: no such file"),
        ("run sweeps/some.yaml --timeout soon", "--timeout: a duration such as 90s"),
        ("run sweeps/some.yaml --devices one", "--devices one: numbers of GPUs"),
        ("run sweeps/some.yaml", "not a prepared store"),
        ("run sweeps/torn.yaml", "torn.yaml: space: with mixing.kind='gossip', mixing.learners=3, "),
        ("run sweeps/torn.yaml", "no.edges: cannot be read"),
        ("confirm some --devices one", "--devices one: numbers of GPUs"),
        ("confirm some --trials-per-device 2", "go with --devices"),
        ("status", "there are no sweeps yet"),
        ("best some", "there are no sweeps yet"),
        ("work some", "there are no sweeps yet"),
        ("run sweeps/some.yaml --slurm partition=low", "--slurm goes with --launcher slurm"),
        ("run sweeps/some.yaml --launcher slurm --slurm low", "--slurm low: KEY=VALUE is wanted"),
        ("run sweeps/some.yaml --launcher slurm --slurm array=0-3", "--slurm array: is the launcher's own"),
        ("status --storage mysql://host/name", "sqlite:///FILE or postgresql+psycopg://"),
        ("status --storage postgresql+nothing://me:secret@host/name", "cannot be used"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mistake_gets_one_line_and_status_2(gossipgan: Gossipgan, command: str, says: str) -> None:
    done = gossipgan("sweep", *command.split())
    assert done.status == 2
    assert done.err.startswith("gossipgan: error: ")
    assert done.err.count("\n") == 1
    assert says in done.err
    assert "secret" not in done.err
    assert not Path("sweeps.db").exists()
    assert not Path("work").exists()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("best soem", "no sweep 'soem'; there are some; did you mean 'some'?"),
        ("trials other", "no sweep 'other'; there are some"),
        ("export some --trial 7", "some has trials 0 to 1"),
        ("export some --as baseline", "experiments.baseline: is there already"),
    ],
)
@pytest.mark.usefixtures("swept")
def test_a_wrong_name_is_refused_with_the_right_ones(gossipgan: Gossipgan, command: str, says: str) -> None:
    done = gossipgan("sweep", *command.split())
    assert done.status == 2
    assert says in done.err


def test_status_best_and_trials_agree_in_words_and_in_json(gossipgan: Gossipgan, swept: Path) -> None:
    status = json.loads(gossipgan("sweep", "status", "some", "--json").out)
    trials = json.loads(gossipgan("sweep", "trials", "some", "--json").out)
    best = json.loads(gossipgan("sweep", "best", "some", "--json").out)
    assert (status["counts"], status["metric"], status["direction"]) == ({"ok": 2}, "fid_digits_2000_ema", "minimize")
    assert [trial["score"] for trial in trials] == [trial["settings"]["lookahead.k"] for trial in trials]
    assert best == status["best"] == min(trials, key=lambda trial: trial["score"])
    assert json.loads(gossipgan("sweep", "status", "--json").out) == [status]
    assert f"best: {best['name']}: fid_digits_2000_ema {best['score']:.4f}" in gossipgan("sweep", "status").out
    assert "trial-1: ok" in gossipgan("sweep", "trials", "some").out
    assert f"lookahead.k: {best['settings']['lookahead.k']}" in gossipgan("sweep", "best", "some").out


@pytest.mark.usefixtures("swept")
def test_stop_is_seen_by_whoever_runs_the_sweep(gossipgan: Gossipgan) -> None:
    assert gossipgan("sweep", "stop", "some").status == 0
    assert json.loads(gossipgan("sweep", "status", "some", "--json").out)["stop"] is True


def test_export_writes_an_experiment_that_config_show_resolves(gossipgan: Gossipgan, swept: Path) -> None:
    best = json.loads(gossipgan("sweep", "best", "some", "--json").out)
    assert gossipgan("sweep", "export", "some").status == 0
    shown = json.loads(gossipgan("config", "show", "-e", "some-best", "--json").out)
    assert shown["lookahead"]["k"] == best["settings"]["lookahead.k"]


def test_export_full_says_what_is_left_out_and_that_the_score_will_differ(gossipgan: Gossipgan, folder: Path) -> None:
    (folder / "sweeps" / "some.yaml").write_text(
        SPACE.replace("}}\n", "}, training.steps: 20, training.batch: 32, training.evaluate_every: 10}\n")
    )
    _begin(folder, 1)
    done = gossipgan("sweep", "export", "some", "--full", "--as", "long")
    assert done.status == 0
    assert done.out.endswith("without training.steps, training.evaluate_every of the sweep its score will differ\n")
    assert gossipgan("sweep", "export", "some", "--as", "short").out.endswith(" at seed 1\n")
    for name, steps in (("long", 100), ("short", 20)):
        shown = json.loads(gossipgan("config", "show", "-e", name, "--json").out)
        assert (shown["training"]["steps"], shown["training"]["batch"]) == (steps, 32)
