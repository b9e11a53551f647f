"""What a mixing matrix must be, and one line where it is not."""

from collections.abc import Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import connected_components

from gossipgan.errors import UserError

#: How far a row or column may be from 1, and an entry from its mirror image.
TOLERANCE = 1e-12


def check_matrix(matrix: NDArray[np.float64] | csr_array, where: str) -> csr_array:
    """The matrix in sparse form, if it is square, finite, nonnegative and doubly stochastic (to 1e-12).

    Args:
        matrix: shape (learners, learners); entry [i, j] is the weight learner i gives to what it hears from j.
        where: what a mistake's line starts with.

    Raises:
        UserError: it is not; the line names the row.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        shape = " x ".join(map(str, matrix.shape)) or "one number"
        raise UserError(f"{where}: a mixing matrix is square, a row and a column a learner; this is {shape}")
    sparse = csr_array(matrix, copy=True)
    sparse.eliminate_zeros()
    sparse.sort_indices()
    for wrong, wanted in ((~np.isfinite(sparse.data), "is not a number"), (sparse.data < 0, "is negative")):
        if wrong.any():
            place = int(wrong.argmax())
            row = int(np.searchsorted(sparse.indptr, place, side="right")) - 1
            raise UserError(f"{where}: row {row}, column {sparse.indices[place]} {wanted}: {sparse.data[place]:g}")
    for axis, line in ((1, "row"), (0, "column")):
        sums = sparse.sum(axis=axis)
        off = np.abs(sums - 1.0)
        if off.max() > TOLERANCE:
            worst = int(off.argmax())
            raise UserError(
                f"{where}: {line} {worst} sums to {sums[worst]:.15g}, not 1 (to 1e-12); "
                "rows and columns of a mixing matrix sum to 1"
            )
    return sparse


def asymmetry(matrix: csr_array) -> tuple[int, int] | None:
    """Row and column of the entry farthest from its mirror image, or None for a symmetric matrix (to 1e-12)."""
    difference = csr_array(abs(matrix - matrix.T))
    if difference.nnz == 0 or difference.data.max() <= TOLERANCE:
        return None
    place = int(difference.data.argmax())
    return int(np.searchsorted(difference.indptr, place, side="right")) - 1, int(difference.indices[place])


def check_consensus(matrices: Sequence[csr_array], where: str) -> None:
    """Whether doubly stochastic matrices, used in turn, bring all learners to their mean.

    Raises:
        UserError: some learners never hear from others, or the weights go round in cycles without mixing.
    """
    learners = matrices[0].shape[0]
    union = csr_array(sum(matrices[1:], start=matrices[0]))
    parts, part = connected_components(union, directed=True, connection="weak")
    if parts > 1:
        first, other = int(np.flatnonzero(part == part[0])[-1]), int(np.flatnonzero(part != part[0])[0])
        raise UserError(
            f"{where}: not connected: {parts} groups of learners never hear from one another, "
            f"such as learner {first} from learner {other}"
        )
    if all((matrix.diagonal() > 0).all() for matrix in matrices):
        return
    # Parts that are connected one way are so both ways where rows and columns sum to 1. Over a period without weights
    # on oneself, all depends on the product: it may fall into parts, or move weights round in a cycle.
    product = eye_array(learners, format="csr")
    for matrix in matrices:
        product = matrix @ product
    digraph = nx.from_scipy_sparse_array(csr_array(product), create_using=nx.DiGraph)
    if not nx.is_strongly_connected(digraph) or not nx.is_aperiodic(digraph):
        row = next(i for matrix in matrices for i in range(learners) if matrix.diagonal()[i] == 0)
        raise UserError(
            f"{where}: periodic: weights go round in cycles and learners never agree; "
            f"give them weight on themselves (row {row} has 0 on the diagonal, sum 1)"
        )
