"""Tests of paired differences, and what several of them together may claim.

With differences d_1..d_n over n seeds, the paired t-test asks how far their mean lies from zero in units of
s / sqrt(n), and takes them for about normal. The sign-flip test takes them only for symmetric about zero where there
is no difference: its p is the share of the 2^n ways to give the differences signs whose mean lies as far from zero as
theirs, or farther. With n seeds it is at least 2 / 2^n, so that with five it cannot go below 0.0625.

Holm's correction (Scandinavian Journal of Statistics 6, 1979) keeps the chance of any false claim among m comparisons
at the level of one: the k-th smallest p is multiplied by m - k + 1, and is at least the one before.
"""

import math
from collections.abc import Sequence

#: Up to so many sign patterns all are looked at; beyond, so many at random from a generator of a fixed seed.
_PATTERNS = 2**13


def paired_t(differences: Sequence[float]) -> float | None:
    """p of the two-sided paired t-test; None for fewer than two differences.

    Differences that are all the same give 0, or 1 where they are all zero.
    """
    if len(differences) < 2:
        return None
    if min(differences) == max(differences):
        return 1.0 if differences[0] == 0 else 0.0
    from scipy import stats

    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def sign_flip(differences: Sequence[float]) -> float | None:
    """p of the two-sided sign-flip test of the mean, exact up to 13 differences; None for fewer than two."""
    if len(differences) < 2:
        return None
    import numpy as np
    from scipy import stats

    found = stats.permutation_test(
        (np.asarray(differences, dtype=np.float64),),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_PATTERNS,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def least_sign_flip(n: int) -> float:
    """The least p that the sign-flip test can give for so many differences."""
    return min(1.0, 2.0 ** (1 - n))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values, in the order given; a comparison without a p counts as one that shows nothing."""
    order = sorted(range(len(ps)), key=lambda index: _or_infinite(ps[index]))
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, index in enumerate(order):
        p = ps[index]
        if p is None:
            break
        highest = max(highest, min(1.0, (len(ps) - rank) * p))
        adjusted[index] = highest
    return adjusted


def _or_infinite(p: float | None) -> float:
    return math.inf if p is None else p
