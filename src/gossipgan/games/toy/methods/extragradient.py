"""Extragradient: the gradient is taken where a trial step would lead.

    w <- w - eta g(w - eta g(w))

On x*y the eigenvalues are 1 - eta^2 +- i eta, of modulus below 1 for eta < 1.
Source: Korpelevich (1976); "Taming GANs with Lookahead-Minmax" (ICLR 2021), equation EG.
"""

import numpy as np

from gossipgan.games.toy.game import Array, Field
from gossipgan.games.toy.methods.base import LinearStep


class Extragradient:
    extrapolations = 1

    def __init__(self, eta: float) -> None:
        self.eta = eta

    def step(self, w: Array, field: Field) -> Array:
        return w - self.eta * field(w - self.eta * field(w))

    def linear_step(self, jacobian: Array) -> LinearStep:
        trial = np.eye(2) - self.eta * jacobian
        return LinearStep(
            np.eye(2) - self.eta * jacobian @ trial,
            np.hstack([self.eta**2 * jacobian, -self.eta * np.eye(2)]),
        )
