"""A cycle of a linear method on a linear field: what it does to a point, and what noise adds on the way.

With A the matrix of one step and Q what noise of unit covariance adds to the covariance in it, k steps have

    A^k    and    sum_{j < k} A^j Q A^j'

and a Lookahead sync after them pulls x and y back to where they began, and leaves the method's memory as it is:

    C = D A^k + (1 - alpha) P    and    D (sum_{j < k} A^j Q A^j') D,

where P keeps x and y only, and D = I - (1 - alpha) P. A nested Lookahead is the same over that, with K / k and A.
Source: "Taming GANs with Lookahead-Minmax" (ICLR 2021).
"""

from dataclasses import dataclass

import numpy as np

from gossipgan.games.toy.game import Array
from gossipgan.games.toy.lookahead import LookaheadSettings
from gossipgan.games.toy.methods.base import Method


@dataclass(frozen=True)
class Cycle:
    """One step, or a Lookahead cycle, on the states (x, y, memory) at one coordinate.

    Attributes:
        matrix: shape (states, states).
        covariance: what the cycle adds to the states' covariance under noise of unit covariance in every evaluation.
    """

    matrix: Array
    covariance: Array

    @property
    def slowest(self) -> complex:
        """The eigenvalue of largest modulus."""
        eigenvalues = np.linalg.eigvals(self.matrix)
        return complex(eigenvalues[np.abs(eigenvalues).argmax()])

    @property
    def spectral_radius(self) -> float:
        """The factor by which the cycle brings the players closer to the solution, in the long run."""
        return abs(self.slowest)


def cycle(method: Method, jacobian: Array, lookahead: LookaheadSettings | None = None) -> Cycle | None:
    """The longest cycle (one step without Lookahead) on the field jacobian @ (x, y); None for nonlinear methods."""
    step = method.linear_step(jacobian)
    if step is None:
        return None
    one = Cycle(step.matrix, step.noise @ step.noise.T)
    if lookahead is None:
        return one
    inner = _pulled_back(one, lookahead.k, lookahead.alpha)
    if lookahead.super_k is None:
        return inner
    return _pulled_back(inner, lookahead.super_k // lookahead.k, lookahead.super_alpha)


def _pulled_back(part: Cycle, times: int, alpha: float) -> Cycle:
    """``part`` a number of times, and then a sync."""
    covariance = np.zeros_like(part.covariance)
    for _ in range(times):
        covariance = part.matrix @ covariance @ part.matrix.T + part.covariance
    share = np.ones(len(part.matrix))
    share[:2] = alpha
    matrix = share[:, None] * np.linalg.matrix_power(part.matrix, times)
    matrix[:2, :2] += (1 - alpha) * np.eye(2)
    return Cycle(matrix, share[:, None] * covariance * share)
