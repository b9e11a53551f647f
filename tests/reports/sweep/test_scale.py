"""Axes of scores: readable whatever the worst trial's score is."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.reports.sweep.scale import Scale

SCORES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_wild_score_does_not_squeeze_the_others(sign: int) -> None:
    usual = [5.0, 5.5, 6.0, 6.5, 7.0]
    scale = Scale.of([sign * value for value in [*usual, 1e12, math.inf, math.nan]], minimize=sign == 1)
    span = scale.high - scale.low
    shown = [scale.place(sign * value) for value in usual]
    assert shown == [sign * value for value in usual]
    assert max(shown) - min(shown) > 0.2 * span
    for wild in (1e12, math.inf, math.nan):
        assert scale.beyond(sign * wild)
        assert scale.low < scale.place(sign * wild) < scale.high
        assert all(sign * scale.place(sign * wild) > sign * value for value in shown)
    assert scale.beyond(None)


@settings(deadline=None)
@given(SCORES, SCORES, st.booleans())
def test_the_best_and_what_must_be_kept_are_within(values: list[float], keep: list[float], minimize: bool) -> None:
    scale = Scale.of(values, minimize=minimize, keep=keep)
    assert scale.low < scale.high
    for value in [min(values) if minimize else max(values), *keep]:
        assert not scale.beyond(value)
        assert scale.place(value) == value
    for value in values:
        assert scale.low <= scale.place(value) <= scale.high


def test_it_is_logarithmic_where_scores_differ_by_factors() -> None:
    assert Scale.of([2, 4, 8, 16, 32], minimize=True).log
    assert not Scale.of([6, 7, 8], minimize=True).log
    assert not Scale.of([-1, 1, 100], minimize=True).log
    assert Scale.of([], minimize=True).high > Scale.of([], minimize=True).low
    one = Scale.of([0.0], minimize=True)
    assert one.low < 0 < one.high
