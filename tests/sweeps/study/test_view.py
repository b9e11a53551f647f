import itertools
from pathlib import Path

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossipgan.runs.journal import Journal
from gossipgan.sweeps import ObjectiveView, StudyStorage, SweepView, TrialView, default_url, view
from gossipgan.sweeps.study import baselines_of, choose_study, claim

from ..conftest import MakeSweep

optuna.logging.set_verbosity(optuna.logging.WARNING)

BLANK = TrialView(0, "trial-0", "ok", None, {}, 0, 0, 0.0, None, {}, Path("work"), None, None, None)
FID, RECALL = ObjectiveView("fid", "fid_digits_200_ema", True), ObjectiveView("recall", "recall_digits_200_ema", False)

TWO = """
space: {lookahead.k: {int: [2, 60]}, lookahead.alpha: {float: [0.2, 1.0]}}
objectives: [{metric: fid}, {metric: bytes}]
pruner: none
baselines: []
budget: {trials: 7}
"""


def _sweep(objectives: tuple[ObjectiveView, ...], values: list[tuple[float, ...]]) -> SweepView:
    trials = tuple(BLANK._replace(number=i, score=one[0], values=one) for i, one in enumerate(values))
    return SweepView("some", "some.yaml", objectives, None, 0.0, False, trials, ())


def _better(one: TrialView, other: TrialView) -> bool:
    """By the definition of dominance: lower FID and higher recall, one of them truly."""
    assert one.values is not None
    assert other.values is not None
    (fid, recall), (other_fid, other_recall) = one.values, other.values
    return fid <= other_fid and recall >= other_recall and (fid < other_fid or recall > other_recall)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_the_front_is_what_nothing_is_better_than(values: list[tuple[float, float]]) -> None:
    sweep = _sweep((FID, RECALL), list(values))
    front = sweep.front
    for one, other in itertools.product(front, sweep.trials):
        assert not _better(other, one)
    for one in sweep.trials:
        assert any(one.values == other.values or _better(other, one) for other in front)
    assert len({one.values for one in front}) == len(front)
    assert [one.score for one in front] == sorted(one.score or 0.0 for one in front)
    assert sweep.best == front[0]


def test_of_one_objective_the_front_is_the_best_and_of_equals_the_first() -> None:
    sweep = _sweep((FID,), [(3.0,), (2.0,), (2.0,), (4.0,)])
    assert [one.number for one in sweep.front] == [1]
    sweep = _sweep((RECALL,), [(0.3,), (0.2,), (0.4,)])
    assert sweep.best is not None
    assert sweep.best.number == 2
    assert sweep._replace(trials=()).best is None
    failed = sweep.trials[2]._replace(state="diverged", values=None)
    assert sweep._replace(trials=(*sweep.trials[:2], failed)).front[0].number == 0


@pytest.mark.parametrize("sampler", ["tpe", "gp", "nsga2", "random"])
def test_several_objectives_are_told_and_shown_one_by_one(make_sweep: MakeSweep, sampler: str) -> None:
    sweep = make_sweep(TWO + f"sampler: {{kind: {sampler}, startup: 4}}")
    storage = StudyStorage(default_url(sweep.params.path.parent), create=True)
    choose_study(storage, sweep, "digest", ["fid_digits_2000_ema", "bytes"], fork=False)
    while (taken := claim(storage, sweep, "some", 7, "digest")) is not None:
        k, alpha = taken.settings.lookahead.k, taken.settings.lookahead.alpha
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, [k * alpha, 1000.0 / k])
    seen = view(storage, "some", sweep.params.path.parent)
    assert [(one.name, one.metric, one.minimize) for one in seen.objectives] == [
        ("fid", "fid_digits_2000_ema", True),
        ("bytes", "bytes", True),
    ]
    assert (seen.metric, seen.minimize) == ("fid_digits_2000_ema", True)
    for one in seen.trials:
        k, alpha = one.settings["lookahead.k"], one.settings["lookahead.alpha"]
        assert one.values == (k * alpha, 1000.0 / k)
        assert one.score == k * alpha
    assert len(seen.front) > 1
    content = seen.as_dict()
    assert [one["direction"] for one in content["objectives"]] == ["minimize", "minimize"]
    assert [one["values"][0] for one in content["front"]] == sorted(one.score for one in seen.front if one.score)


def test_what_a_trial_used_is_read_from_its_journals_where_its_study_does_not_say(tmp_path: Path) -> None:
    """As studies of earlier versions are: without a list of metrics, and without bytes and images of trials."""
    storage = StudyStorage(default_url(tmp_path), create=True)
    for name in ("old", baselines_of("old")):
        optuna.create_study(storage=storage.optuna, study_name=name, direction="minimize")
    study = optuna.load_study(study_name="old", storage=storage.optuna)
    for key, value in {"family": "old", "file": "old.yaml", "score": "fid_x", "seconds": 1.5, "hash": "h"}.items():
        study.set_user_attr(key, value)
    for outcome, known in (("ok", None), ("pruned", None), ("ok", 0)):
        trial = study.ask({"k": optuna.distributions.IntDistribution(1, 9)})
        trial.set_user_attr("outcome", outcome)
        if known is not None:
            trial.set_user_attr("duplicate_of", known)
        trial.report(7.0, 10)
        if outcome == "ok":
            study.tell(trial, 5.0)
        else:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    for number, seed, images, sent in ((0, 1, 800, 60), (0, 2, 800, 20), (1, 1, 300, 10)):
        journal = Journal(tmp_path / "old" / f"trial-{number}" / f"seed-{seed}" / "journal.jsonl")
        journal.append("mixing", 10, images=images // 2, bytes=sent // 2)
        journal.append("mixing", 20, images=images, bytes=sent)
        journal.append("score", 20, images=images, fid_x=5.0)
        journal.close()
    seen = view(storage, "old", tmp_path)
    assert [(one.state, one.score, one.values) for one in seen.trials] == [
        ("ok", 5.0, (5.0,)),
        ("pruned", 7.0, None),
        ("ok", 5.0, (5.0,)),
    ]
    assert [(one.images, one.bytes) for one in seen.trials[:2]] == [(1600, 40.0), (300, 10.0)]
    assert seen.trials[2].images == 0
    assert [one.metric for one in seen.objectives] == ["fid_x"]
