"""Gradient descent ascent, both players at once.

    w <- w - eta g(w)

On x*y its eigenvalues are 1 +- i eta: it spirals outward at every eta > 0.
Source: "Taming GANs with Lookahead-Minmax" (ICLR 2021), equation GDA.
"""

import numpy as np

from gossipgan.games.toy.game import Array, Field
from gossipgan.games.toy.methods.base import LinearStep


class GDA:
    extrapolations = 0

    def __init__(self, eta: float) -> None:
        self.eta = eta

    def step(self, w: Array, field: Field) -> Array:
        return w - self.eta * field(w)

    def linear_step(self, jacobian: Array) -> LinearStep:
        return LinearStep(np.eye(2) - self.eta * jacobian, -self.eta * np.eye(2))
