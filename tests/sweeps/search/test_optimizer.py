"""Samplers and pruners as sweep files ask for them, on scores by formula and curves by hand."""

import importlib.util
from collections.abc import Sequence

import optuna
import pytest

from gossipgan.errors import UserError
from gossipgan.sweeps import StudyStorage, default_url
from gossipgan.sweeps.search import build_pruner, check_optimizer
from gossipgan.sweeps.study import choose_study, claim

from ..conftest import MakeSweep

optuna.logging.set_verbosity(optuna.logging.WARNING)

CONDITIONAL = """
space:
  lookahead.kind: {choices: [none, joint]}
  lookahead.k: {int: [2, 50], log: true, when: {lookahead.kind: joint}}
  lookahead.alpha: {float: [0.2, 0.9], when: {lookahead.kind: joint}}
  optimizer.generator.lr: {float: [5e-4, 8e-3], log: true}
  optimizer.discriminator.lr: {ratio_of: optimizer.generator.lr, float: [0.25, 4.0], log: true}
baselines: []
pruner: none
budget: {trials: 6}
"""


@pytest.mark.parametrize("sampler", ["tpe", "gp", "cma-es", "nsga2", "random"])
def test_every_sampler_stays_in_the_space_and_follows_its_conditions(make_sweep: MakeSweep, sampler: str) -> None:
    sweep = make_sweep(CONDITIONAL + f"sampler: {{kind: {sampler}, startup: 3}}")
    check_optimizer(sweep)
    storage = StudyStorage(default_url(sweep.params.path.parent), create=True)
    choose_study(storage, sweep, "digest", ["fid_digits_2000_ema"], fork=False)
    while (taken := claim(storage, sweep, "some", 6, "digest")) is not None:
        lookahead, optimizer = taken.settings.lookahead, taken.settings.optimizer
        params = taken.trial.params
        assert sweep.space.holds(params)
        assert ("lookahead.k" in params) == ("lookahead.alpha" in params) == (lookahead.kind == "joint")
        ratio = params["optimizer.discriminator.lr / optimizer.generator.lr"]
        assert optimizer.discriminator.lr == pytest.approx(ratio * optimizer.generator.lr)
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, 1000 * optimizer.generator.lr + lookahead.alpha)
    trials = optuna.load_study(study_name="some", storage=storage.optuna).trials
    assert len(trials) == 6
    assert len({str(trial.params) for trial in trials}) == 6


def test_a_sampler_whose_package_is_missing_is_said_in_one_line(
    make_sweep: MakeSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = make_sweep(CONDITIONAL + "sampler: cma-es")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="cma-es needs the package cmaes; install it, or use tpe"):
        check_optimizer(sweep)


PRUNED = """
space: {{lookahead.k: {{int: [2, 60]}}, training.steps: 90, training.evaluate_every: 10}}
pruner: {pruner}
budget: {{trials: 9}}
"""


def _run(study: optuna.Study, curve: Sequence[float]) -> int | None:
    """Run a trial whose scores at iterations 10, 20, ... are these; the iteration at which it is pruned."""
    trial = study.ask()
    for step, value in enumerate(curve, start=1):
        trial.report(value, 10 * step)
        if trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            return 10 * step
    study.tell(trial, curve[-1])
    return None


def _study(make_sweep: MakeSweep, pruner: str) -> optuna.Study:
    return optuna.create_study(pruner=build_pruner(make_sweep(PRUNED.format(pruner=pruner))))


def test_successive_halving_lets_the_best_third_so_far_of_each_rung_go_on(make_sweep: MakeSweep) -> None:
    study = _study(make_sweep, "{kind: successive-halving, reduction: 3}")
    # The rungs are at 10, 30 and 90 iterations. Those who come first have nobody to be compared with.
    assert _run(study, [5.0] * 9) is None
    assert _run(study, [4.0] * 9) is None  # the better of two
    assert _run(study, [6.0] * 9) == 10  # the best of 4, 5, 6 is 4
    assert _run(study, [3.0] * 9) is None
    assert _run(study, [4.5] * 9) == 10  # of five one goes on, which is not it
    # Of six two go on, 3 and 3.5; at 30 there are 5, 4, 3 and now 9, of whom one goes on.
    assert _run(study, [3.5, 9.0, 9.0, 9.0]) == 30
    # Between the rungs nobody is looked at.
    assert _run(study, [1.0, 99.0, 1.0, 99.0, 99.0, 99.0, 99.0, 99.0, 1.0]) is None


def test_median_wants_finished_trials_and_a_warmup_first(make_sweep: MakeSweep) -> None:
    study = _study(make_sweep, "{kind: median, startup: 3, warmup: 20}")
    for value in (1.0, 2.0, 3.0):
        assert _run(study, [value] * 3) is None
    assert _run(study, [9.0, 2.5, 2.5]) == 20  # worse than 2 from the warmup on
    assert _run(study, [9.0, 1.5, 1.5]) is None


def test_patient_ends_a_curve_that_has_stopped_getting_better(make_sweep: MakeSweep) -> None:
    study = _study(make_sweep, "{kind: patient, patience: 2}")
    assert _run(study, [5.0, 4.0, 3.0, 3.1, 3.2, 3.3, 1.0]) == 60  # the third without getting better
    assert _run(study, [5.0, 4.0, 3.0, 3.1, 3.2, 2.9, 2.95]) is None


def test_hyperband_ends_nobody_before_the_warmup_and_knows_the_longest_trial(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(PRUNED.format(pruner="{kind: hyperband, warmup: 30, reduction: 3}"))
    assert sweep.most("training.steps") == 90
    study = optuna.create_study(study_name="some", pruner=build_pruner(sweep))
    ends = [_run(study, [float(value)] * 9) for value in range(30)]  # every trial is worse than all before it
    assert {end for end in ends if end is not None} <= {30, 40, 50, 60, 70, 80, 90}
    assert any(end == 30 for end in ends)
