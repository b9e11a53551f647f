"""Workers on other hosts, as far as a storage shows them: who is alive, who has a trial, what is said of a server."""

import time
from typing import Any

import optuna
import pytest

from gossipgan.errors import UserError
from gossipgan.sweeps import StudyStorage, Sweep, default_url
from gossipgan.sweeps.processes import Identity
from gossipgan.sweeps.study import Claim, choose_study, claim, keep, prospects, recover
from gossipgan.sweeps.workers.slurm import check_slurm
from gossipgan.tracking import without_password

from ..conftest import MakeSweep

optuna.logging.set_verbosity(optuna.logging.WARNING)

TEXT = "space: {lookahead.k: {int: [2, 60]}}\nsampler: random\npruner: none\nbaselines: []\nbudget: {trials: 1}\n"


def _begin(make_sweep: MakeSweep) -> tuple[Sweep, StudyStorage, Claim]:
    sweep = make_sweep(TEXT)
    storage = StudyStorage(default_url(sweep.params.path.parent), create=True)
    choose_study(storage, sweep, "digest", ["fid_digits_100_ema"], fork=False)
    taken = claim(storage, sweep, "some", 1, "digest")
    assert taken is not None
    return sweep, storage, taken


def _move(taken: Claim, silent: float, **other: Any) -> None:
    """As if a worker elsewhere had a trial, and had last been heard of so many seconds ago."""
    taken.trial.set_user_attr("worker", {**Identity.own()._asdict(), **other, "beat": time.time() - silent})


@pytest.mark.parametrize("other", [{"host": "elsewhere"}, {"started": "another boot 1"}, {"started": ""}])
def test_a_worker_elsewhere_is_given_up_when_it_has_been_silent_and_not_before(
    make_sweep: MakeSweep, other: dict[str, str]
) -> None:
    sweep, storage, taken = _begin(make_sweep)
    _move(taken, 60.0, **other)
    assert recover(storage, "some") == []
    assert prospects(storage, sweep, "some", 1) == (False, True)
    _move(taken, 600.0, **other)
    assert recover(storage, "some") == ["some/0"]
    assert prospects(storage, sweep, "some", 1) == (True, False)


def test_who_was_given_up_finds_that_the_trial_is_another_s(make_sweep: MakeSweep) -> None:
    sweep, storage, taken = _begin(make_sweep)
    assert keep(storage, taken, 7.0)
    assert taken.trial.user_attrs["seconds"] == 7.0
    _move(taken, 600.0, host="elsewhere")
    assert not keep(storage, taken, 8.0)
    recover(storage, "some")
    assert not keep(storage, taken, 8.0)  # it waits, and is nobody's
    again = claim(storage, sweep, "some", 1, "digest")
    assert again is not None
    assert again.number == taken.number
    assert again.trial.params == taken.trial.params


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:hush@host/name",
        "postgresql+psycopg://me:hu:sh@hush/@host:5432/name",
        "postgresql+psycopg://host/name?user=me&password=hush&sslmode=require",
    ],
)
def test_a_password_is_shown_of_no_kind_of_url(url: str) -> None:
    shown = without_password(f"--storage {url}: cannot be used")
    assert "hush" not in shown
    assert "host" in shown
    assert shown.endswith("cannot be used")


def test_the_launcher_s_own_options_are_not_given_to_sbatch_twice() -> None:
    with pytest.raises(UserError, match="--slurm job-name: is the launcher's own"):
        check_slurm({"partition": "low", "job-name": "mine"})
