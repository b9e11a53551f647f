"""By what factor a cycle brings the players closer to the solution: predicted, and measured.

Predicted, for a base method of eigenvalue lambda on the game x*y:

    a step      |lambda|
    Lookahead   |s|,  s = (1 - alpha) + alpha lambda^k
    nested      |(1 - A) + A s^(K / k)|

the largest over the eigenvalues. It is computed as the spectral radius of the cycle's matrix, which is the same
number for methods without memory, and is also right where memory (the last gradient) survives the sync. Where the field
is not linear, it is taken to be so at the solution.
Source: "Taming GANs with Lookahead-Minmax" (ICLR 2021).
"""

import numpy as np

from gossipgan.games.toy.cycle import cycle
from gossipgan.games.toy.game import Array
from gossipgan.games.toy.lookahead import LookaheadSettings
from gossipgan.games.toy.methods.base import Method


def predicted(method: Method, jacobian: Array, lookahead: LookaheadSettings | None = None) -> float | None:
    """Contraction factor of one cycle (of one step without Lookahead) near the solution; None for nonlinear methods.

    Args:
        method: the base method.
        jacobian: of the game's field at the solution, shape (2, 2).
        lookahead: over it.
    """
    one = cycle(method, jacobian, lookahead)
    return None if one is None else one.spectral_radius


def measured(cycles: Array, distances: Array, smallest: float = 1e-10, largest: float = 1e140) -> float | None:
    """The factor a cycle, fitted to log distance by least squares over the later half of what is resolved.

    Args:
        cycles: how many cycles were done, shape (points,), increasing.
        distances: to the solution then, shape (points,).
        smallest: part of the first distance below which rounding of the solution's own size begins to show.
        largest: multiple of it above which squares overflow, or a field is no longer near linear.

    None if fewer than two distances are resolved.
    """
    outside = ~((distances > smallest * distances[0]) & (distances < largest * distances[0]))
    resolved = int(outside.argmax()) if outside.any() else len(distances)
    if resolved < 2:
        return None
    begin = min(resolved // 2, resolved - 2)
    x, y = cycles[begin:resolved], np.log(distances[begin:resolved])
    x = x - x.mean()
    return float(np.exp((x @ y) / (x @ x)))
