"""Axes of scores on which what matters can be told apart, however bad the worst trials are."""

import math
from collections.abc import Iterable
from typing import NamedTuple, Self

#: The axis ends at so many times the way from the best score to the middle one.
_REACH = 4.0

#: Scores whose ratio is greater go on a logarithmic axis.
_LOG_FROM = 5.0

#: Room at each end, in shares of the axis.
_MARGIN = 0.06


class Scale(NamedTuple):
    """An axis of scores.

    Attributes:
        low, high: its ends, with some room.
        least, most: the scores that it is made for lie between these; what is worse is drawn at the edge.
        log: whether it is logarithmic.
        minimize: whether less is better.
    """

    low: float
    high: float
    least: float
    most: float
    log: bool
    minimize: bool

    @classmethod
    def of(cls, values: Iterable[float], *, minimize: bool, keep: Iterable[float] = ()) -> Self:
        """The scale for some scores; those that are not finite count for nothing.

        Args:
            keep: scores that must be within it, however bad.
        """
        sign = 1.0 if minimize else -1.0
        costs = sorted(sign * value for value in values if math.isfinite(value))
        kept = [sign * value for value in keep if math.isfinite(value)]
        if not costs:
            costs = sorted(kept) or [0.0, 1.0]
        best, middle = costs[0], costs[len(costs) // 2]
        way = middle - best or next((cost - best for cost in costs if cost > best), 0.0)
        worst = max(cost for cost in costs if cost <= best + _REACH * way)
        least, most = sorted((sign * min([best, *kept]), sign * max([worst, *kept])))
        log = least > 0 and most / least > _LOG_FROM
        if log:
            room = (most / least) ** _MARGIN
            return cls(least / room, most * room, least, most, log, minimize)
        room_beside = _MARGIN * (most - least) or 0.1 * abs(most) or 1.0
        return cls(least - room_beside, most + room_beside, least, most, log, minimize)

    @property
    def edge(self) -> float:
        """Where what is worse than the axis reaches is drawn: just within its worse end."""
        if self.log:
            return math.sqrt(self.most * self.high) if self.minimize else math.sqrt(self.least * self.low)
        return (self.most + self.high) / 2 if self.minimize else (self.least + self.low) / 2

    def beyond(self, value: float | None) -> bool:
        """Whether a score is worse than the axis reaches, or no number."""
        if value is None or not math.isfinite(value):
            return True
        return value > self.most if self.minimize else value < self.least

    def place(self, value: float | None) -> float:
        """Where a score is drawn: at itself, or at the edge."""
        if value is None or self.beyond(value):
            return self.edge
        # Better than all it was made for is a score of a trial that has not ended well.
        return max(value, self.low) if self.minimize else min(value, self.high)
