"""The bilinear game with noise in its gradients.

    f(x, y) = x'y;    a player sees its gradient plus sigma N(0, I), drawn anew at every evaluation

Both half-steps of an extragradient method are noisy, each on its own. The only stationary point is the origin, and the
noise does not vanish there: at a constant step size a linear method that contracts ends in a cloud around it, whose
second moment ``stationary`` gives exactly. For extragradient that is 2 sigma^2 (1 + eta^2) / (1 - eta^2) a coordinate,
which does not go to zero with eta.
Source: Hsieh et al., "Explore Aggressively, Update Conservatively: Stochastic Extragradient Methods with Variable
Stepsize Scaling" (NeurIPS 2020): its bilinear example and public code, here with the identity as coupling matrix.
"""

from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np

from gossipgan.games.toy.game import ROTATION, Array, Field, Game

#: Random numbers drawn at a time.
_DRAWS_AT_ONCE = 100_000


class NoisyGame(Game):
    """The same game in all plays, each with its own noise.

    Args:
        dim: d.
        sigma: standard deviation of the noise in each coordinate of each player's gradient.
    """

    jacobian = ROTATION

    def __init__(self, dim: int, sigma: float) -> None:
        self.sigma = sigma
        self.solution = np.zeros((1, 2, dim))

    def field(self, w: Array) -> Array:
        g = w[..., ::-1, :].copy()
        g[..., 1, :] *= -1
        return g

    def fields(self, streams: Sequence[np.random.Generator]) -> Iterator[Field]:
        """The noisy field, again and again. One stream a play."""
        noise = self._noise(streams)
        return repeat(lambda w: self.field(w) + next(noise))

    def _noise(self, streams: Sequence[np.random.Generator]) -> Iterator[Array]:
        # One play's draws must not depend on how many play beside it, and so neither on how many are drawn at once.
        ahead = max(1, _DRAWS_AT_ONCE // (len(streams) * 2 * self.dim))
        while True:
            block = np.stack([draws.standard_normal((ahead, 2, self.dim)) for draws in streams], axis=1)
            yield from self.sigma * block
