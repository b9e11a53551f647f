"""By what factor a cycle brings the players closer to the solution: predicted, and measured.

Predicted, for a base method of eigenvalue lambda on the game x*y:

    a step      |lambda|
    Lookahead   |s|,  s = (1 - alpha) + alpha lambda^k
    nested      |(1 - A) + A s^(K / k)|

the largest over the eigenvalues. It is computed as the spectral radius of the cycle's matrix, which is the same
number for methods without memory, and is also right where memory (the last gradient) survives the sync.
Source: "Taming GANs with Lookahead-Minmax" (ICLR 2021).
"""

import numpy as np

from gossipgan.games.bilinear.lookahead import LookaheadSettings
from gossipgan.games.bilinear.methods.base import Array, Method

#: Distances are used for the measurement while they are above this part of the start: beyond it, rounding of the
#: solution's own size begins to show.
_RESOLVED = 1e-10
#: and below this multiple of it, where squares do not overflow.
_LARGEST = 1e140


def predicted(method: Method, lookahead: LookaheadSettings | None) -> float | None:
    """Contraction factor of one cycle (of one step without Lookahead) in full batch; None for nonlinear methods."""
    cycle = method.iteration_matrix()
    if cycle is None:
        return None
    if lookahead is not None:
        cycle = _pulled_back(np.linalg.matrix_power(cycle, lookahead.k), lookahead.alpha)
        if lookahead.super_k is not None:
            inner = np.linalg.matrix_power(cycle, lookahead.super_k // lookahead.k)
            cycle = _pulled_back(inner, lookahead.super_alpha)
    return float(np.abs(np.linalg.eigvals(cycle)).max())


def _pulled_back(fast: Array, alpha: float) -> Array:
    """A sync after ``fast``: x and y (the first two rows) are pulled back to where they began, memory is kept."""
    cycle = fast.copy()
    cycle[:2] *= alpha
    cycle[:2, :2] += (1 - alpha) * np.eye(2)
    return cycle


def measured(cycles: Array, distances: Array) -> float | None:
    """The factor a cycle, fitted to log distance by least squares over the later half of what is resolved.

    Args:
        cycles: how many cycles were done, shape (points,), increasing.
        distances: to the solution then, shape (points,).

    None if fewer than two distances are resolved.
    """
    outside = ~((distances > _RESOLVED * distances[0]) & (distances < _LARGEST * distances[0]))
    resolved = int(outside.argmax()) if outside.any() else len(distances)
    if resolved < 2:
        return None
    begin = min(resolved // 2, resolved - 2)
    x, y = cycles[begin:resolved], np.log(distances[begin:resolved])
    x = x - x.mean()
    return float(np.exp((x @ y) / (x @ x)))
