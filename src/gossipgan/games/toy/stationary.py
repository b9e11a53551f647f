"""How far from the solution noise keeps a linear method in the long run: exactly.

A cycle maps the covariance of its states to C Sigma C' + sigma^2 Q. If the spectral radius of C is below 1, that has
one fixed point, the solution of the discrete Lyapunov equation

    Sigma = C Sigma C' + sigma^2 Q

and the mean of the states is the solution of the game.
"""

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from gossipgan.games.toy.cycle import cycle
from gossipgan.games.toy.game import Array
from gossipgan.games.toy.lookahead import LookaheadSettings
from gossipgan.games.toy.methods.base import Method

#: A cycle that contracts by less is taken for one that does not: alternating GDA's eigenvalues have modulus 1.
_LEAST_CONTRACTION = 1e-9


def second_moment(
    method: Method, jacobian: Array, sigma: float, lookahead: LookaheadSettings | None = None
) -> float | None:
    """E (x_i - x*_i)^2 + E (y_i - y*_i)^2 at the ends of cycles, at one coordinate i, in the long run.

    Args:
        method: the base method.
        jacobian: of the linear field, shape (2, 2).
        sigma: standard deviation of the noise in each player's gradient, independent at every evaluation.
        lookahead: over the method.

    None for nonlinear methods; infinite where a cycle does not contract.
    """
    one = cycle(method, jacobian, lookahead)
    if one is None:
        return None
    if one.spectral_radius > 1 - _LEAST_CONTRACTION:
        return np.inf
    covariance = solve_discrete_lyapunov(one.matrix, sigma**2 * one.covariance)
    return float(covariance[0, 0] + covariance[1, 1])
