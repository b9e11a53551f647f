"""Alternating gradient descent ascent: y answers the x that has already moved.

    x <- x - eta grad_x f(x, y);    y <- y + eta grad_y f(x, y)

On x*y the matrix of a step has determinant 1 and, for eta < 2, complex eigenvalues of modulus exactly 1: it circles.
Source: Gidel et al., "Negative Momentum for Improved Game Dynamics" (AISTATS 2019).
"""

import numpy as np

from gossipgan.games.bilinear.methods.base import Array, Field


class AlternatingGDA:
    extrapolations = 0

    def __init__(self, eta: float) -> None:
        self.eta = eta

    def step(self, w: Array, field: Field) -> Array:
        w = w.copy()
        w[..., 0, :] -= self.eta * field(w)[..., 0, :]
        w[..., 1, :] -= self.eta * field(w)[..., 1, :]
        return w

    def iteration_matrix(self) -> Array:
        eta = self.eta
        return np.array([[1.0, -eta], [eta, 1.0 - eta * eta]])
