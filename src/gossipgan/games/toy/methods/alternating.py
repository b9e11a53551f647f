"""Alternating gradient descent ascent: y answers the x that has already moved.

    x <- x - eta grad_x f(x, y);    y <- y + eta grad_y f(x, y)

On x*y the matrix of a step has determinant 1 and, for eta < 2, complex eigenvalues of modulus exactly 1: it circles.
Source: Gidel et al., "Negative Momentum for Improved Game Dynamics" (AISTATS 2019).
"""

import numpy as np

from gossipgan.games.toy.game import Array, Field
from gossipgan.games.toy.methods.base import LinearStep


class AlternatingGDA:
    extrapolations = 0

    def __init__(self, eta: float) -> None:
        self.eta = eta

    def step(self, w: Array, field: Field) -> Array:
        w = w.copy()
        w[..., 0, :] -= self.eta * field(w)[..., 0, :]
        w[..., 1, :] -= self.eta * field(w)[..., 1, :]
        return w

    def linear_step(self, jacobian: Array) -> LinearStep:
        of_x, of_y = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
        y_moves = np.eye(2) - self.eta * of_y @ jacobian
        return LinearStep(
            y_moves @ (np.eye(2) - self.eta * of_x @ jacobian),
            -self.eta * np.hstack([y_moves @ of_x, of_y]),
        )
