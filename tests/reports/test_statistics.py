import math

import pytest
from scipy import stats

from gossipgan.reports import paired_difference, sentence, spread

BASELINE = {1: 20.0, 2: 22.5, 3: 19.0, 4: 21.0}
EXPERIMENT = {1: 17.0, 2: 19.0, 3: 16.5, 4: 17.2}


def test_spread_is_mean_and_standard_deviation_with_divisor_n_minus_one() -> None:
    over = spread([2.0, 4.0, 9.0])
    assert over.mean == 5.0
    assert over.std == pytest.approx(math.sqrt((9 + 1 + 16) / 2))


def test_one_value_has_a_mean_and_no_spread() -> None:
    assert spread([3.5]) == (1, 3.5, None)
    assert spread([]) == (0, None, None)


def test_interval_is_that_of_scipys_paired_t_test() -> None:
    difference = paired_difference(EXPERIMENT, BASELINE)
    seeds = sorted(BASELINE)
    test = stats.ttest_rel([EXPERIMENT[s] for s in seeds], [BASELINE[s] for s in seeds])
    low, high = test.confidence_interval(0.95)
    assert (difference.low, difference.high) == (pytest.approx(low), pytest.approx(high))
    assert difference.shown == (test.pvalue < 0.05)


def test_interval_of_two_seeds_is_the_hand_formula() -> None:
    # Differences -1 and -3: mean -2, s = sqrt(2), t(1) at 97.5 % = 12.7062.
    difference = paired_difference({1: 9.0, 2: 7.0}, {1: 10.0, 2: 10.0})
    assert difference.mean == -2.0
    assert difference.high == pytest.approx(-2 + 12.7062047, rel=1e-6)
    assert not difference.shown


def test_only_common_seeds_are_compared() -> None:
    difference = paired_difference({1: 1.0, 2: 2.0, 7: 100.0}, {1: 2.0, 2: 3.5, 8: -100.0})
    assert difference.seeds == (1, 2)
    assert difference.mean == -1.25


@pytest.mark.parametrize(("lower_is_better", "verdict"), [(True, "better"), (False, "worse")])
def test_a_difference_that_is_shown_says_by_how_much_and_which_way_is_better(
    lower_is_better: bool, verdict: str
) -> None:
    text = sentence(paired_difference(EXPERIMENT, BASELINE), baseline="baseline", lower_is_better=lower_is_better)
    assert text.startswith("lower than baseline by 3.20 (95 % interval 2.")
    assert text.endswith(f"4 seeds): {verdict}")


def test_an_interval_with_zero_in_it_shows_no_difference() -> None:
    text = sentence(paired_difference({1: 1.0, 2: 3.0}, {1: 2.0, 2: 2.0}), baseline="adam", lower_is_better=True)
    assert text.startswith("no difference from adam can be shown")


def test_one_seed_says_that_the_spread_cannot_be_known() -> None:
    text = sentence(paired_difference({1: 1.0}, {1: 2.0}), baseline="adam", lower_is_better=True)
    assert "nobody can know the spread" in text
    assert "better" not in text


def test_no_common_seed_is_said() -> None:
    text = sentence(paired_difference({1: 1.0}, {2: 2.0}), baseline="adam", lower_is_better=True)
    assert "cannot be compared" in text
