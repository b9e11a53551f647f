"""Who hears from whom."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array


class Graph:
    """Learners and the links between them, without weights and without links of a learner to itself.

    Attributes:
        hears: ones, sparse, shape (learners, learners); an entry at [i, j] says that learner i hears from learner j.
        directed: whether somebody hears from a learner that does not hear from it.
    """

    def __init__(self, learners: int, receivers: NDArray[np.int64], senders: NDArray[np.int64]) -> None:
        apart = receivers != senders
        entries = (np.ones(int(apart.sum())), (receivers[apart], senders[apart]))
        self.hears = csr_array(coo_array(entries, shape=(learners, learners)))
        self.hears.data[:] = 1.0  # a link that was given twice is one link
        self.directed = bool((self.hears != self.hears.T).nnz)

    @classmethod
    def undirected(cls, learners: int, edges: Iterable[tuple[int, int]]) -> Self:
        """Both learners of an edge hear from each other; learners are numbered from 0."""
        pairs = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
        return cls(learners, np.concatenate([pairs[:, 0], pairs[:, 1]]), np.concatenate([pairs[:, 1], pairs[:, 0]]))

    @classmethod
    def of_networkx(cls, graph: Any) -> Self:
        """An undirected networkx graph, its nodes numbered in their order."""
        number = {node: place for place, node in enumerate(graph.nodes)}
        return cls.undirected(len(number), ((number[a], number[b]) for a, b in graph.edges))

    @classmethod
    def shifts(cls, learners: int, shifts: Iterable[int]) -> Self:
        """Learner i sends to the learners i + shift, round the circle."""
        given = np.array(sorted({shift % learners for shift in shifts}), dtype=np.int64)
        senders = np.repeat(np.arange(learners), len(given))
        return cls(learners, (senders + np.tile(given, learners)) % learners, senders)

    @property
    def learners(self) -> int:
        return int(self.hears.shape[0])

    @property
    def in_degrees(self) -> NDArray[np.int64]:
        """From how many others each learner hears, shape (learners,)."""
        degrees: NDArray[np.int64] = np.diff(self.hears.indptr).astype(np.int64)
        return degrees
