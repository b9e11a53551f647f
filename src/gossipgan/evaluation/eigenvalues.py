"""Extreme eigenvalues of a matrix that is known by its products alone.

ARPACK (implicitly restarted Lanczos and Arnoldi iterations, through SciPy) finds them; small matrices are built
column by column, and all of their eigenvalues computed. Both are the same from one execution to the next.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, eigsh

Vector = npt.NDArray[np.float64]
Product = Callable[[Vector], Vector]

#: Below this dimension matrices are built.
_DENSE_BELOW = 300
#: ARPACK takes an eigenvalue for converged when, by its estimate, |M v - lambda v| <= this |lambda| (|v| = 1). The
#: products are float32, of 1e-6 of the largest eigenvalue or so.
TOLERANCE = 1e-3
#: Vectors that ARPACK keeps, for each eigenvalue at an end. Its own choice of 2 takes up to twice the products, which
#: cost far more than the memory: at 20 eigenvalues of 600,000 parameters that is .4 GB. And how many at least.
_BASIS, _LEAST_BASIS = 4, 20
#: Restarts of ARPACK after which what hasn't converged is given up; each takes up to 3 products for each eigenvalue.
_RESTARTS = 10


class Extremes(NamedTuple):
    """Eigenvalues at one end of a spectrum.

    Attributes:
        values: the outermost first; complex ones in conjugate pairs, which are never cut in two, so that there may
            be one more than wanted.
        missing: how many of those wanted did not converge. They may be any of the wanted ones, and are not in
            ``values``.
        exact: all eigenvalues were computed, and these picked.
    """

    values: npt.NDArray[Any]
    missing: int
    exact: bool


def symmetric_extremes(product: Product, dimension: int, top: int, seed: int = 0) -> tuple[Extremes, Extremes]:
    """The ``top`` largest and the ``top`` smallest eigenvalues of a symmetric matrix, as float64.

    Args:
        product: with a vector of shape ``(dimension,)``.
        dimension: of the matrix.
        top: how many of each; of a matrix with fewer, all.
        seed: of the vector that the iterations start from.
    """
    if _is_small(dimension, top):
        matrix = _build(product, dimension)
        values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        return Extremes(values[::-1][:top], 0, True), Extremes(values[:top], 0, True)
    # Both ends at once take hardly more products than one.
    both = _iterate(eigsh, product, dimension, "BE", 2 * top, _basis(top), seed)
    if not both.missing:
        values = np.sort(both.values)
        return both._replace(values=values[::-1][:top]), both._replace(values=values[:top])
    # Which end the missing ones are of is not told.
    largest, smallest = (_iterate(eigsh, product, dimension, which, top, _basis(top), seed) for which in ("LA", "SA"))
    return largest._replace(values=np.sort(largest.values)[::-1]), smallest._replace(values=np.sort(smallest.values))


def general_extremes(product: Product, dimension: int, top: int, seed: int = 0) -> tuple[Extremes, Extremes]:
    """The ``top`` eigenvalues of largest magnitude and the ``top`` of smallest real part, as complex128.

    The matrix is real, not symmetric. Arguments are those of ``symmetric_extremes``.
    """
    if _is_small(dimension, top):
        values = np.linalg.eigvals(_build(product, dimension)).astype(np.complex128)
        return (
            Extremes(_without_cutting(_by_magnitude(values), top), 0, True),
            Extremes(_without_cutting(_by_real_part(values), top), 0, True),
        )
    largest, leftmost = (_iterate(eigs, product, dimension, which, top, _basis(top), seed) for which in ("LM", "SR"))
    return (
        largest._replace(values=_by_magnitude(_paired(largest.values))),
        leftmost._replace(values=_by_real_part(_paired(leftmost.values))),
    )


def _is_small(dimension: int, top: int) -> bool:
    return dimension < max(_DENSE_BELOW, _basis(top) + 2)


def _basis(top: int) -> int:
    return max(_LEAST_BASIS, _BASIS * top + 1)


def _build(product: Product, dimension: int) -> npt.NDArray[np.float64]:
    return np.stack([product(column) for column in np.eye(dimension)], axis=1)


def _iterate(
    solver: Callable[..., Any], product: Product, dimension: int, which: str, count: int, basis: int, seed: int
) -> Extremes:
    """ARPACK's eigenvalues, in no order."""
    start = np.random.default_rng(seed).standard_normal(dimension)
    if not product(start).any():
        # A matrix that takes a random vector to zero is zero, which ARPACK refuses.
        return Extremes(np.zeros(count), 0, True)
    try:
        values, _ = solver(
            LinearOperator((dimension, dimension), matvec=product, dtype=np.float64),
            k=count,
            which=which,
            v0=start,
            ncv=basis,
            maxiter=_RESTARTS,
            tol=TOLERANCE,
            rng=np.random.default_rng(seed),
        )
    except ArpackNoConvergence as partial:
        values = partial.eigenvalues
    return Extremes(values, max(0, count - len(values)), False)


def _by_magnitude(values: npt.NDArray[Any]) -> npt.NDArray[np.complex128]:
    """Conjugates stay neighbours, that of positive imaginary part first."""
    return values[np.lexsort((-values.imag, -np.abs(values)))]


def _by_real_part(values: npt.NDArray[Any]) -> npt.NDArray[np.complex128]:
    return values[np.lexsort((-values.imag, np.abs(values.imag), values.real))]


def _without_cutting(values: npt.NDArray[Any], top: int) -> npt.NDArray[Any]:
    """The first ``top``, and one more where the last of them is the first of a pair."""
    return values[: top + 1] if len(values) >= top and values[top - 1].imag > 0 else values[:top]


def _paired(values: npt.NDArray[Any]) -> npt.NDArray[np.complex128]:
    """Complex eigenvalues of a real matrix come in pairs; where ARPACK was asked for one of a pair, add the other."""
    values = values.astype(np.complex128)
    upper, lower = values[values.imag > 0], values[values.imag < 0]
    return np.concatenate([values[values.imag == 0], _union(upper, lower.conj()), _union(lower, upper.conj())])


def _union(values: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``values`` and those of ``others`` that are not among them."""
    left = list(values)
    added = []
    for other in others:
        near = [index for index, value in enumerate(left) if np.isclose(value, other, rtol=1e-9)]
        if near:
            left.pop(near[0])
        else:
            added.append(other)
    return np.concatenate([values, np.array(added, dtype=values.dtype)])
