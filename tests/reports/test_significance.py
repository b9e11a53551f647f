import math
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.reports.significance import holm, least_sign_flip, paired_t, sign_flip

WHOLE = st.integers(-20, 20)


def _p_of_t4(t: float) -> float:
    """Two-sided p of Student's t with 4 degrees of freedom, whose distribution has a closed form."""
    q = 1 + t * t / 4
    return 2 * (0.5 - 3 / 8 * t / math.sqrt(q) * (1 - t * t / (12 * q)))


def _p_by_enumeration(differences: Sequence[int]) -> float:
    signs = list(product((1, -1), repeat=len(differences)))
    sums = [abs(sum(sign * one for sign, one in zip(row, differences, strict=True))) for row in signs]
    return sum(one >= abs(sum(differences)) for one in sums) / len(signs)


def test_paired_t_of_five_differences_is_the_closed_form() -> None:
    # 1 to 5: mean 3, s = sqrt(2.5), so t = 3 / sqrt(2.5 / 5) = sqrt(18).
    assert paired_t([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(_p_of_t4(math.sqrt(18)), rel=1e-12)
    assert paired_t([-5.0, -1.0, -4.0, -2.0, -3.0]) == pytest.approx(_p_of_t4(math.sqrt(18)), rel=1e-12)
    assert _p_of_t4(2.776445) == pytest.approx(0.05, abs=1e-6)  # as every table has it


def test_paired_t_of_two_differences_is_the_angle_of_their_t() -> None:
    # With one degree of freedom t is Cauchy's: 1 and 3 give mean 2, s = sqrt(2), t = 2.
    assert paired_t([1.0, 3.0]) == pytest.approx(1 - 2 / math.pi * math.atan(2), rel=1e-12)


def test_differences_without_a_spread_are_decided_without_a_test() -> None:
    assert paired_t([0.0, 0.0, 0.0]) == 1.0
    assert paired_t([2.5, 2.5, 2.5]) == 0.0
    assert (paired_t([1.0]), sign_flip([1.0])) == (None, None)


@given(st.lists(WHOLE, min_size=2, max_size=8))
@settings(deadline=None, max_examples=40)
def test_sign_flip_is_the_share_of_all_signs(differences: list[int]) -> None:
    assert sign_flip([float(one) for one in differences]) == pytest.approx(_p_by_enumeration(differences))


def test_five_seeds_on_one_side_give_the_least_that_sign_flips_can() -> None:
    assert sign_flip([0.3, 1.7, 0.9, 2.2, 0.1]) == pytest.approx(2 / 32)
    assert least_sign_flip(5) == 2 / 32
    assert least_sign_flip(1) == 1.0


def test_many_seeds_are_looked_at_in_part_and_the_same_part_each_time() -> None:
    differences = [3, -1, 4, 1, -5, 9, -2, 6, 5, -3, 5, 8, -9, 7]
    found = sign_flip([float(one) for one in differences])
    assert found == pytest.approx(_p_by_enumeration(differences), abs=0.02)
    assert found == sign_flip([float(one) for one in differences])


def test_holm_is_the_worked_example() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, each at least the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.04]) == [0.04]
    assert holm([0.6, 0.7]) == [1.0, 1.0]


def test_a_comparison_without_p_still_counts_as_one() -> None:
    assert holm([None, 0.02, 0.01]) == [None, pytest.approx(0.04), pytest.approx(0.03)]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0.01, 0.2))
def test_holm_rejects_what_its_step_down_procedure_rejects(ps: list[float], level: float) -> None:
    rejected: set[int] = set()
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda index: ps[index])):
        if (len(ps) - rank) * ps[index] > level:
            break
        rejected.add(index)
    assert {index for index, p in enumerate(holm(ps)) if p is not None and p <= level} == rejected
