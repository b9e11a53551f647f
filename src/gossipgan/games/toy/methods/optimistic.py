"""Optimistic gradient descent ascent, by the points at which gradients are taken.

    Z_{k+1} = Z_k - 2 eta g(Z_k) + eta g(Z_{k-1})

The first step is a plain gradient step, as if the gradient before it had been the same. With
X_k = X_{k-1} - eta g(Z_k) and Z_k = X_{k-1} - eta g(Z_{k-1}) it is the X/Z recursion of DPOSG for one learner.
Source: Daskalakis et al., "Training GANs with Optimism" (ICLR 2018).
"""

import numpy as np

from gossipgan.games.toy.game import Array, Field
from gossipgan.games.toy.methods.base import LinearStep


class OptimisticGDA:
    extrapolations = 0

    def __init__(self, eta: float) -> None:
        self.eta = eta
        self._last: Array | None = None

    def step(self, w: Array, field: Field) -> Array:
        g = field(w)
        last = g if self._last is None else self._last
        self._last = g
        return w - 2 * self.eta * g + self.eta * last

    def linear_step(self, jacobian: Array) -> LinearStep:
        """On (Z_k, g(Z_{k-1})), four states."""
        eta, one = self.eta, np.eye(2)
        return LinearStep(
            np.block([[one - 2 * eta * jacobian, eta * one], [jacobian, np.zeros((2, 2))]]),
            np.vstack([-2 * eta * one, one]),
        )
