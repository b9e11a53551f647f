"""What a few seeds can show.

An experiment is compared with the baseline seed by seed (a paired design: one seed gives both the same
data order and noise). With differences d_1..d_n, their mean m and sample standard deviation s, the 95 %
confidence interval is m -+ t s / sqrt(n), t being the 97.5 % quantile of Student's t with n - 1 degrees
of freedom. It assumes that the differences are about normal, and is not corrected for the number of
metrics or experiments looked at.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

CONFIDENCE = 0.95


class Spread(NamedTuple):
    """Values over seeds: how many, mean, sample standard deviation (divisor n - 1; None for fewer than two)."""

    n: int
    mean: float | None
    std: float | None


class Difference(NamedTuple):
    """Experiment minus baseline over the seeds that both have.

    Attributes:
        seeds: the common seeds.
        mean: mean difference; None without a common seed.
        low, high: the 95 % confidence interval; None for fewer than two seeds.
    """

    seeds: tuple[int, ...]
    mean: float | None
    low: float | None
    high: float | None

    @property
    def shown(self) -> bool:
        """True where the interval leaves zero out."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def verdict(self, *, lower_is_better: bool) -> Literal["better", "worse"] | None:
        """How the experiment does against the baseline; None where no difference can be shown."""
        if not self.shown or self.mean is None:
            return None
        return "better" if (self.mean < 0) == lower_is_better else "worse"


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation of finite values."""
    n = len(values)
    if n == 0:
        return Spread(0, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Spread(1, mean, None)
    return Spread(n, mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1)))


def paired_difference(experiment: Mapping[int, float], baseline: Mapping[int, float]) -> Difference:
    """Experiment minus baseline, by seed.

    Args:
        experiment, baseline: finite values by seed; diverged runs are left out by the caller.
    """
    seeds = tuple(sorted(experiment.keys() & baseline.keys()))
    differences = spread([experiment[seed] - baseline[seed] for seed in seeds])
    return Difference(seeds, differences.mean, *interval(differences))


def interval(values: Spread) -> tuple[float, float] | tuple[None, None]:
    """The 95 % confidence interval of the mean of about normal values; None twice for fewer than two."""
    if values.mean is None or values.std is None:
        return None, None
    from scipy import stats  # half a second that only a comparison needs to spend

    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, values.n - 1))
    margin = quantile * values.std / math.sqrt(values.n)
    return values.mean - margin, values.mean + margin


def sentence(difference: Difference, *, baseline: str, lower_is_better: bool) -> str:
    """A difference in plain words, without a verb: it follows a metric's name."""
    n = len(difference.seeds)
    if difference.mean is None:
        return f"cannot be compared with {baseline}: no seed at which both ended well"
    size = number(abs(difference.mean))
    side = "lower" if difference.mean < 0 else "higher"
    if difference.low is None or difference.high is None:
        return (
            f"{size} {side} than {baseline} at one seed; from one seed nobody can know the spread, "
            "so no difference can be shown"
        )
    verdict = difference.verdict(lower_is_better=lower_is_better)
    if verdict is None:
        return (
            f"no difference from {baseline} can be shown (mean difference {signed(difference.mean)}, "
            f"95 % interval {signed(difference.low)} to {signed(difference.high)}, {n} seeds)"
        )
    near, far = sorted((abs(difference.low), abs(difference.high)))
    return f"{side} than {baseline} by {size} (95 % interval {number(near)} to {number(far)}, {n} seeds): {verdict}"


def number(value: float) -> str:
    """Three significant digits, and no more than two decimals from ten up."""
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 6)}f}" if abs(value) < 1e6 else f"{value:.3g}"


def signed(value: float) -> str:
    """A number with its sign; minus as a minus sign."""
    return f"\N{MINUS SIGN}{number(-value)}" if value < 0 else f"+{number(value)}"
