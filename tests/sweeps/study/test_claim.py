"""Claims by real processes on one storage, without training."""

import os
import signal
from pathlib import Path
from typing import Any

import optuna
import pytest

from gossipgan.config import load_params
from gossipgan.sweeps import StudyStorage, default_url, load_sweep, view
from gossipgan.sweeps.processes import Nursery
from gossipgan.sweeps.study import choose_study, claim, held, prospects, recover

from ..conftest import MakeSweep

optuna.logging.set_verbosity(optuna.logging.WARNING)

SPACE = "space: {lookahead.k: {int: [2, 60]}, lookahead.alpha: {float: [0.2, 1.0]}}\nbaselines: []\n"


def _take(request: dict[str, Any]) -> int:
    """Take trials until there are none; ``dies``: after so many, end without a word."""
    root = Path(request["root"])
    sweep = load_sweep(root / "sweeps/some.yaml", load_params(root / "params.yaml"))
    storage = StudyStorage(default_url(root), create=False)
    done = 0
    while (taken := claim(storage, sweep, "some", request["trials"], "digest")) is not None:
        done += 1
        if done == request["dies"]:
            os.kill(os.getpid(), signal.SIGKILL)
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, float(taken.settings.lookahead.k))
    return 0


def _claim_in_processes(root: Path, count: int, trials: int, dies: int = 0) -> None:
    nursery = Nursery(lambda: None, _take)
    made = {nursery.spawn({"root": str(root), "trials": trials, "dies": dies}) for _ in range(count)}
    ended: dict[int, int] = {}
    while ended.keys() != made:
        ended.update(nursery.ended(1.0))
    nursery.close()
    assert list(ended.values()) == [-signal.SIGKILL if dies else 0] * count


def _begin(root: Path, sampler: str = "random") -> StudyStorage:
    sweep = load_sweep(root / "sweeps/some.yaml", load_params(root / "params.yaml"))
    storage = StudyStorage(default_url(root), create=True)
    choose_study(storage, sweep, "digest", ["fid_digits_100_ema"], fork=False)
    return storage


def test_four_processes_take_exactly_the_budget_and_no_trial_twice(make_sweep: MakeSweep) -> None:
    root = make_sweep(SPACE + "sampler: random\nbudget: {trials: 30}").params.path.parent
    storage = _begin(root)
    _claim_in_processes(root, 4, trials=30)
    trials = view(storage, "some", root).trials
    assert [trial.number for trial in trials] == list(range(30))
    assert {trial.state for trial in trials} == {"ok"}


def test_a_small_space_is_used_up_though_only_time_limits_the_sweep(make_sweep: MakeSweep) -> None:
    sweep = make_sweep("space: {lookahead.k: {int: [2, 4]}}\nbaselines: []\nsampler: random\nbudget: {time: 1h}")
    root = sweep.params.path.parent
    storage = _begin(root)
    taken = []
    while (one := claim(storage, sweep, "some", None, "digest")) is not None:
        taken.append(one.settings.lookahead.k)
        one.trial.set_user_attr("outcome", "ok")
        one.study.tell(one.trial, float(taken[-1]))
    assert sorted(taken) == [2, 3, 4]
    assert not prospects(storage, sweep, "some", None).left


def test_what_a_dead_process_had_is_taken_again_with_the_same_settings(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(SPACE + "sampler: random\nbudget: {trials: 5}")
    root = sweep.params.path.parent
    storage = _begin(root)
    _claim_in_processes(root, 1, trials=5, dies=3)
    study = optuna.load_study(study_name="some", storage=storage.optuna)
    lost = study.trials[2]
    assert lost.state.name == "RUNNING"
    assert not held(lost)
    # Worst of all moments: the outcome is noted, and not yet told.
    storage.optuna.set_trial_user_attr(lost._trial_id, "outcome", "ok")
    assert recover(storage, "some") == ["some/2"]
    assert [trial.state for trial in view(storage, "some", root).trials] == ["ok", "ok", "interrupted"]
    taken = claim(storage, sweep, "some", 5, "digest")
    assert taken is not None
    assert (taken.number, taken.trial.params) == (2, lost.params)
    assert recover(storage, "some") == []  # this process lives
    taken.study.tell(taken.trial, 1.0)
    _claim_in_processes(root, 1, trials=5)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 5
    assert not prospects(storage, sweep, "some", 5).left
    assert prospects(storage, sweep, "some", 6).left


def test_a_trial_that_was_made_before_its_settings_gets_settings_of_its_own(make_sweep: MakeSweep) -> None:
    root = make_sweep(SPACE + "sampler: random\nbudget: {trials: 4}").params.path.parent
    storage = _begin(root)
    optuna.load_study(study_name="some", storage=storage.optuna).ask()  # and no more: it was cut short here
    assert recover(storage, "some") == ["some/0"]
    _claim_in_processes(root, 1, trials=4)
    trials = view(storage, "some", root).trials
    assert [trial.number for trial in trials] == list(range(4))
    assert len({str(trial.settings) for trial in trials}) == 4


@pytest.mark.parametrize("sampler", ["random", "tpe", "gp", "cma-es", "nsga2"])
def test_an_interrupted_sweep_proposes_what_an_uninterrupted_one_does(make_sweep: MakeSweep, sampler: str) -> None:
    text = SPACE + f"sampler: {{kind: {sampler}, startup: 3}}\nbudget: {{trials: 6}}"
    root = make_sweep(text).params.path.parent

    def proposals(*stops: int) -> list[dict[str, object]]:
        (root / "sweeps.db").unlink(missing_ok=True)
        storage = _begin(root)
        for stop in stops:
            _claim_in_processes(root, 1, trials=stop)
        return [trial.params for trial in optuna.load_study(study_name="some", storage=storage.optuna).trials]

    whole = proposals(6)
    assert proposals(4, 6) == whole
    assert len({str(params) for params in whole}) == 6


def test_a_grid_is_walked_once_whoever_walks_it(make_sweep: MakeSweep) -> None:
    text = "space: {lookahead.k: {int: [2, 4]}, game.width: {choices: [4, 8]}}\nsampler: grid\nbaselines: []"
    root = make_sweep(text).params.path.parent
    storage = _begin(root)
    _claim_in_processes(root, 3, trials=100)
    trials = optuna.load_study(study_name="some", storage=storage.optuna).trials
    assert sorted((trial.params["lookahead.k"], trial.params["game.width"]) for trial in trials) == [
        (k, width) for k in (2, 3, 4) for width in (4, 8)
    ]


def test_a_known_setting_is_told_its_score_and_what_is_tried_first_comes_first(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(
        """
        space: {lookahead.k: {choices: [2, 3]}}
        enqueue: [{lookahead.k: 3}]
        sampler: random
        budget: {trials: 9}
        """
    )
    root = sweep.params.path.parent
    storage = _begin(root)
    first = claim(storage, sweep, "some", 9, "digest")
    assert first is not None
    assert (first.baseline, first.folder, first.settings.lookahead.k) == ("baseline", "baseline-baseline", 5)
    second = claim(storage, sweep, "some", 9, "digest")
    assert second is not None
    assert second.settings.lookahead.k == 3
    # What is proposed while it runs waits for it, unless it is another.
    third = claim(storage, sweep, "some", 9, "digest")
    assert third is not None
    assert third.twin == (second.number if third.settings.lookahead.k == 3 else None)
    for taken in (first, second, third):
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, float(taken.settings.lookahead.k))
    _claim_in_processes(root, 1, trials=9)
    trials = view(storage, "some", root).trials
    assert len(trials) == 9
    assert all(trial.score == trial.settings["lookahead.k"] for trial in trials)
    assert sum(trial.duplicate_of is None for trial in trials) <= 3


def test_a_file_that_is_gone_fails_the_trial_and_not_its_worker(make_sweep: MakeSweep, tmp_path: Path) -> None:
    file = tmp_path / "gone.txt"
    graph = f"mixing.kind: gossip, mixing.learners: 3, mixing.topology: custom, mixing.file: {{choices: [{file}]}}"
    sweep = make_sweep(f"space: {{{graph}}}\nbaselines: []\nbudget: {{trials: 1}}\n")
    storage = _begin(tmp_path)
    assert claim(storage, sweep, "some", 1, "digest") is None
    (trial,) = view(storage, "some", tmp_path).trials
    assert (trial.state, trial.reason) == ("crashed", f"{file}: cannot be read (No such file or directory)")
