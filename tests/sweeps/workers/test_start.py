"""Who may work on a sweep that was begun elsewhere: a host with its pictures and its extractor."""

import json
from contextlib import closing
from pathlib import Path

import optuna
import pytest
import torch

from gossipgan.config import Settings, load_params
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import Ruler
from gossipgan.sweeps import Options, StudyStorage, default_url, load_sweep, view, work_on_sweep
from gossipgan.sweeps.study import choose_study

from ..conftest import SMALL

SPACE = "space: {lookahead.k: {int: [2, 9]}}\nsampler: random\npruner: none\nbaselines: []\nbudget: {trials: 1}\n"


@pytest.fixture
def folder(small_project: Path, tmp_path: Path) -> Path:
    """A host's copy of the project."""
    for name in ("data", "extractor", "cache"):
        (tmp_path / name).symlink_to(small_project / name)
    (tmp_path / "params.yaml").write_text(json.dumps({**SMALL, "experiments": {"baseline": {}}}))
    (tmp_path / "some.yaml").write_text(SPACE)
    return tmp_path


def _begin(folder: Path, data: str, extractor: str) -> None:
    """A sweep that was begun on a host with such pictures and such an extractor."""
    sweep = load_sweep(folder / "some.yaml", load_params(folder / "params.yaml"))
    with closing(StudyStorage(default_url(folder), create=True)) as storage:
        choose_study(storage, sweep, data, ["fid_digits_100_ema"], fork=False)
        study = optuna.load_study(study_name="some", storage=storage.optuna)
        study.set_user_attr("extractor", extractor)
        study.set_user_attr("budget", 1)


def _own(folder: Path) -> tuple[str, str]:
    """What the host has: its pictures and its extractor."""
    store, settings = Store.open(folder / "data" / "prepared"), Settings.model_validate(SMALL)
    ruler = Ruler.open(settings, store, folder / "extractor", folder / "cache", torch.device("cpu"))
    return store.digest, ruler.extractor_identity


def _work(folder: Path) -> None:
    options = Options(workers=1, trials=None, timeout=None, url=default_url(folder), devices=(), fork=False)
    work_on_sweep("some", load_params(folder / "params.yaml"), options, lambda seen: None)


def _states(folder: Path) -> list[str]:
    with closing(StudyStorage(default_url(folder), create=False)) as storage:
        return [one.state for one in view(storage, "some", folder / "work" / "sweeps").trials]


@pytest.mark.parametrize(
    ("differs", "says"),
    [
        ("data", r"data/prepared: other pictures \([0-9a-f]{12}\) than some is of \(f{12}\); prepare them"),
        ("extractor", r"extractor: another extractor \([0-9a-f]{12}\) than some is judged by \(f{12}\): its scores"),
    ],
)
def test_a_host_with_another_ruler_is_refused_in_a_line_and_takes_nothing(
    folder: Path, differs: str, says: str
) -> None:
    data, extractor = _own(folder)
    other = "f" * 64
    _begin(folder, other if differs == "data" else data, other if differs == "extractor" else extractor)
    with pytest.raises(UserError, match=says) as error:
        _work(folder)
    assert "\n" not in str(error.value)
    assert _states(folder) == []
    assert not (folder / "work").exists()


def test_a_host_with_the_same_runs_its_trials(folder: Path) -> None:
    _begin(folder, *_own(folder))
    _work(folder)
    assert _states(folder) == ["ok"]
