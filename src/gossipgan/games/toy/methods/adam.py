"""Adam, both players at once.

    m <- beta1 m + (1 - beta1) g;    v <- beta2 v + (1 - beta2) g^2
    w <- w - eta (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

beta1 may be negative, as in the Lookahead-minmax paper's stochastic game; the Adam of that paper's public notebook
leaves v uncorrected. Source: Kingma and Ba (ICLR 2015).
"""

import numpy as np

from gossipgan.games.toy.game import Array, Field

EPSILON = 1e-8


class AdamMoments:
    """First and second moments of the gradients seen, and how many there were.

    Args:
        beta1, beta2: of the two moments.
        v_corrected: whether the bias of v is corrected; without, the first steps are 1 / sqrt(1 - beta2) times as long.
    """

    def __init__(self, beta1: float, beta2: float, *, v_corrected: bool = True) -> None:
        self.beta1, self.beta2 = beta1, beta2
        self._v_corrected = v_corrected
        self._m: Array | float = 0.0
        self._v: Array | float = 0.0
        self._count = 0

    def direction(self, g: Array) -> Array:
        """Take ``g`` in, and return m / (sqrt(v) + eps) of the corrected moments."""
        self._count += 1
        self._m = self.beta1 * self._m + (1 - self.beta1) * g
        self._v = self.beta2 * self._v + (1 - self.beta2) * (g * g)
        m = self._m / (1 - self.beta1**self._count)
        v = self._v / (1 - self.beta2**self._count) if self._v_corrected else self._v
        direction: Array = m / (np.sqrt(v) + EPSILON)
        return direction


class Adam:
    extrapolations = 0

    def __init__(self, eta: float, beta1: float = 0.9, beta2: float = 0.999, *, v_corrected: bool = True) -> None:
        self.eta = eta
        self._moments = AdamMoments(beta1, beta2, v_corrected=v_corrected)

    def step(self, w: Array, field: Field) -> Array:
        return w - self.eta * self._moments.direction(field(w))

    def linear_step(self, jacobian: Array) -> None:
        return None
