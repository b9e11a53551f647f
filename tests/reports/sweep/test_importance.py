"""Importances: of a score whose dependence is known."""

import math

import pytest

from gossipgan.reports.sweep.importance import FEWEST, importances
from gossipgan.reports.sweep.plots import score_scale

from .conftest import Build, Fake, proposal


def _trials(count: int, joint: bool = True) -> list[Fake]:
    """Half of them with Lookahead; the rate explains the score, and alpha a little of it."""
    trials = []
    for place in range(count):
        lr = 10 ** (-4 + 3 * (place * 0.618 % 1))
        on = joint and place % 2 == 0
        alpha = 0.2 + 0.7 * (place * 0.414 % 1)
        score = 10 + 3 * math.log10(lr / 1e-4) + (6 * alpha if on else 2)
        params = (
            proposal(2 + place % 48, alpha, lr, 1.0 + place % 3) if on else proposal(None, None, lr, 1.0 + place % 3)
        )
        trials.append(Fake("ok", (score,), params))
    return trials


def test_what_the_score_depends_on_comes_first_and_conditions_have_their_own(build: Build) -> None:
    record = build([*_trials(40), Fake("diverged", (1e9,), proposal(None, None, 0.1, 1.0)), _same(0, 39.0)]).record()
    everyone, joint = importances(record, score_scale(record))
    assert (everyone.when, everyone.trials) == ("", 40)
    assert (joint.when, joint.trials) == ("lookahead.kind: joint", 20)
    assert next(iter(everyone.shares)) == "optimizer.generator.lr"
    assert list(joint.shares)[:2] == ["optimizer.generator.lr", "lookahead.alpha"]
    assert "lookahead.k" not in everyone.shares
    assert "lookahead.kind" not in joint.shares  # they have all the same
    for rated in (everyone, joint):
        assert sum(rated.shares.values()) == pytest.approx(1)
        assert list(rated.shares.values()) == sorted(rated.shares.values(), reverse=True)
    assert importances(record, score_scale(record)) == [everyone, joint]


def _same(of: int, score: float) -> Fake:
    """A trial that was not run: another had its settings."""
    return Fake("ok", (score,), proposal(2, 0.2, 1e-4, 1.0), about={"duplicate_of": of})


def test_few_trials_are_not_rated(build: Build) -> None:
    few = build(_trials(FEWEST - 1)).record()
    assert importances(few, score_scale(few)) == []
    equal = build([one._replace(values=(7.0,)) for one in _trials(FEWEST + 2, joint=False)]).record()
    assert importances(equal, score_scale(equal)) == []
