"""Joint Lookahead on arrays, plain and nested.

Every k steps:  slow <- (1 - alpha) slow + alpha fast;   fast <- slow
Every K steps, after that:  sslow <- (1 - A) sslow + A slow;   slow <- sslow;   fast <- sslow

Both players are in one array, so they backtrack at the same moment. All slow weights are anchored at the start, so
that the first sync is a real one. The convex combination is slow + alpha (fast - slow), written so that alpha = 1
gives the fast weights to the last bit.
Source: "Taming GANs with Lookahead-Minmax" (ICLR 2021), algorithm 1 and its nested form.
"""

from dataclasses import dataclass

from gossipgan.games.toy.game import Array


@dataclass(frozen=True)
class LookaheadSettings:
    """When and how far is pulled back.

    Attributes:
        k: fast steps between syncs, at least 1.
        alpha: share of the fast weights in a sync, in (0, 1].
        super_k: K of the nested Lookahead, a multiple of k; None: not nested.
        super_alpha: A of the nested Lookahead, in (0, 1].
    """

    k: int
    alpha: float
    super_k: int | None = None
    super_alpha: float = 0.5

    @property
    def cycle(self) -> int:
        """Steps of the longest cycle."""
        return self.k if self.super_k is None else self.super_k


class Lookahead:
    """The slow weights of one play of the game, or of several side by side.

    Args:
        start: the weights before the first step.
        settings: k, alpha, and those of the nested one.
    """

    def __init__(self, start: Array, settings: LookaheadSettings) -> None:
        self._slow = start
        self._super_slow = start
        self._settings = settings

    def sync(self, fast: Array, steps: int) -> Array:
        """The weights to go on from after ``steps`` fast steps: ``fast`` itself where no sync is due."""
        settings = self._settings
        if steps % settings.k == 0:
            fast = self._slow = (1 - settings.alpha) * self._slow + settings.alpha * fast
        if settings.super_k is not None and steps % settings.super_k == 0:
            share = settings.super_alpha
            fast = self._slow = self._super_slow = (1 - share) * self._super_slow + share * fast
        return fast
