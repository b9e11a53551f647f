"""From a graph to a mixing matrix: W[i, j] is the weight that learner i gives to what it hears from learner j."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array

from gossipgan.errors import UserError
from gossipgan.mixing.graph import Graph

Floats = NDArray[np.floating[Any]]


def uniform(graph: Graph, where: str) -> csr_array:
    """W_ij = 1 / (d_i + 1) for the d_i that learner i hears from, and for itself.

    Doubly stochastic on a connected graph only where all learners have equally many neighbours.

    Raises:
        UserError: not all have.
    """
    degrees = graph.in_degrees
    if len(set(degrees.tolist())) > 1:
        columns = (diags_array(1.0 / (degrees + 1.0)) @ graph.hears).sum(axis=0) + 1.0 / (degrees + 1.0)
        worst = int(np.abs(columns - 1.0).argmax())
        raise UserError(
            f"{where}: uniform weights are doubly stochastic only where all learners have equally many neighbours; "
            f"here column {worst} sums to {columns[worst]:.6g}, not 1: use metropolis weights"
        )
    share = 1.0 / (degrees + 1.0)
    return _matrix(graph, share[_receivers(graph)], share)


def metropolis(graph: Graph, where: str) -> csr_array:
    """W_ij = 1 / (max(d_i, d_j) + 1) between neighbours; W_ii is what is left of 1 (Metropolis-Hastings weights).

    Symmetric and doubly stochastic on every undirected graph. Source: Xiao, Boyd and Kim, "Distributed average
    consensus with least-mean-square deviation" (2007), equation 5.

    Raises:
        UserError: the graph is directed.
    """
    if graph.directed:
        raise UserError(f"{where}: metropolis weights are for links both ways, which these are not; use uniform")
    degrees = graph.in_degrees
    return _with_rest(graph, 1.0 / (np.maximum(degrees[_receivers(graph)], degrees[graph.hears.indices]) + 1.0))


def max_degree(graph: Graph, where: str) -> csr_array:
    """W_ij = 1 / (d + 1) between neighbours, d the largest degree of all; W_ii is what is left of 1.

    Symmetric and doubly stochastic on every undirected graph; doubly stochastic on a directed one where every learner
    sends to as many as it hears from. Source: as for ``metropolis``, equation 4.

    Raises:
        UserError: some learner of a directed graph does not.
    """
    degrees = graph.in_degrees
    sent = graph.hears.sum(axis=0)
    if (sent != degrees).any():
        row = int((sent != degrees).argmax())
        raise UserError(
            f"{where}: max-degree weights need learners that send to as many as they hear from; "
            f"learner {row} sends to {sent[row]:.0f} and hears from {degrees[row]}"
        )
    return _with_rest(graph, np.full(graph.hears.nnz, 1.0 / (degrees.max() + 1.0)))


def _receivers(graph: Graph) -> NDArray[np.int64]:
    """The receiver of each link, in the order of the links."""
    return np.repeat(np.arange(graph.learners), graph.in_degrees)


def _with_rest(graph: Graph, weights: Floats) -> csr_array:
    """The matrix of the links' weights; a learner keeps what they leave of 1."""
    return _matrix(graph, weights, 1.0 - np.bincount(_receivers(graph), weights, minlength=graph.learners))


def _matrix(graph: Graph, links: Floats, own: Floats) -> csr_array:
    everybody = np.arange(graph.learners)
    rows = np.concatenate([_receivers(graph), everybody])
    columns = np.concatenate([graph.hears.indices, everybody])
    matrix = csr_array(coo_array((np.concatenate([links, own]), (rows, columns)), shape=graph.hears.shape))
    matrix.sort_indices()
    return matrix


#: Rules by name: a new one is one function and one line here.
WEIGHTS: dict[str, Callable[[Graph, str], csr_array]] = {
    "uniform": uniform,
    "metropolis": metropolis,
    "max-degree": max_degree,
}
