"""Extragradient: the gradient is taken where a trial step would lead.

    w <- w - eta g(w - eta g(w))

Both gradients of an iteration are of one batch. On x*y the eigenvalues are 1 - eta^2 +- i eta, of modulus below 1 for
eta < 1. Source: Korpelevich (1976); "Taming GANs with Lookahead-Minmax" (ICLR 2021), equation EG.
"""

import numpy as np

from gossipgan.games.bilinear.methods.base import ROTATION, Array, Field


class Extragradient:
    extrapolations = 1

    def __init__(self, eta: float) -> None:
        self.eta = eta

    def step(self, w: Array, field: Field) -> Array:
        return w - self.eta * field(w - self.eta * field(w))

    def iteration_matrix(self) -> Array:
        return np.eye(2) - self.eta * ROTATION @ (np.eye(2) - self.eta * ROTATION)
