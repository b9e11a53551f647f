"""Which mixing matrix holds in which round."""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gossipgan.errors import UserError
from gossipgan.mixing.checks import asymmetry, check_consensus, check_matrix
from gossipgan.mixing.draws import draw

#: For every learner i its pairs (j, W[i, j]), j ascending, i itself among them.
Rows = tuple[tuple[tuple[int, float], ...], ...]


class Schedule(ABC):
    """Mixing matrices W_0, W_1, ..., one a round of gossip: x_i <- sum_j W[i, j] x_j.

    Every W is doubly stochastic, so that a round keeps the learners' mean. Rounds are counted from the start of a run;
    an iteration of t rounds takes t of them. What a round is depends on its number alone.

    Attributes:
        topology: the graph's name.
        weights: the name of the rule that the weights follow, or ``given``.
        learners: n, at least 1.
        period: rounds after which matrices repeat: 1 for a static graph; None where every round is a draw.
    """

    def __init__(self, topology: str, weights: str, learners: int, period: int | None) -> None:
        self.topology = topology
        self.weights = weights
        self.learners = learners
        self.period = period
        self._rows: dict[int, Rows] = {}

    @abstractmethod
    def matrix(self, number: int) -> csr_array:
        """W of round ``number``, from 0, sparse: shape (learners, learners), float64, columns ascending in each row."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether every W is symmetric (to 1e-12)."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256, in hex, of all that decides the matrices: processes that mix with each other have the same."""

    def at(self, number: int) -> NDArray[np.float64]:
        """W of round ``number``, from 0, as an array of shape (learners, learners)."""
        dense: NDArray[np.float64] = self.matrix(number).toarray()
        return dense

    def rows(self, number: int) -> Rows:
        """Round ``number`` as learner i sees it: ``rows(number)[i]`` holds (j, W[i, j]) for all that it hears from.

        j is ascending, which is the order of addition everywhere; learner i itself is always among them.
        """
        if self.period is None:
            return _rows(self.matrix(number))
        place = number % self.period
        if place not in self._rows:
            self._rows[place] = _rows(self.matrix(place))
        return self._rows[place]

    def receivers(self, number: int) -> tuple[tuple[int, ...], ...]:
        """``receivers(number)[j]``: those that learner j sends to in round ``number``, ascending, without itself."""
        sends: list[list[int]] = [[] for _ in range(self.learners)]
        for i, row in enumerate(self.rows(number)):
            for j, _ in row:
                if j != i:
                    sends[j].append(i)
        return tuple(map(tuple, sends))

    def require_symmetric(self, method: str) -> None:
        """Refuse, for a method whose W is symmetric and the same in all rounds.

        Raises:
            UserError: this one isn't.
        """
        if self.period != 1:
            raise UserError(
                f"{self.topology}: its matrix changes from round to round; {method} needs a fixed one, such as ring's"
            )
        place = asymmetry(self.matrix(0))
        if place is not None:
            w, (i, j) = self.matrix(0), place
            raise UserError(
                f"{self.topology}: not symmetric: row {i}, column {j} is {w[i, j]:.15g}, "
                f"row {j}, column {i} is {w[j, i]:.15g}; {method} needs a symmetric matrix, such as ring's or "
                "symmetric-exponential's"
            )


class Periodic(Schedule):
    """Matrices that repeat after a period; one alone is a static graph's.

    Raises:
        UserError: a matrix is not doubly stochastic, or all together don't lead to consensus (see ``checks``).
    """

    def __init__(
        self,
        topology: str,
        weights: str,
        matrices: Sequence[NDArray[np.float64] | csr_array],
        where: str | None = None,
    ) -> None:
        where = where or topology
        checked = [check_matrix(matrix, where) for matrix in matrices]
        check_consensus(checked, where)
        super().__init__(topology, weights, checked[0].shape[0], len(checked))
        self._matrices = checked

    def matrix(self, number: int) -> csr_array:
        return self._matrices[number % len(self._matrices)]

    @property
    def symmetric(self) -> bool:
        return all(asymmetry(matrix) is None for matrix in self._matrices)

    @property
    def digest(self) -> str:
        content = hashlib.sha256(f"{self.learners}/{self.period}".encode())
        for matrix in self._matrices:
            for part, kind in ((matrix.indptr, "<i8"), (matrix.indices, "<i8"), (matrix.data, "<f8")):
                content.update(part.astype(kind).tobytes())
        return content.hexdigest()


class Matchings(Schedule):
    """A random matching in every round: learners in pairs, drawn anew, and each pair takes its mean.

    Of an odd number of learners one sits out. The round's pairs depend on (seed, number) alone. Source: Boyd, Ghosh,
    Prabhakar and Shah, "Randomized gossip algorithms" (2006), in its synchronous form.
    """

    def __init__(self, learners: int, seed: int) -> None:
        super().__init__("random-matching", "uniform", learners, None)
        self.seed = seed

    def partners(self, number: int) -> NDArray[np.int64]:
        """Every learner's partner in round ``number``, itself for one that sits out; shape (learners,)."""
        stream = draw(self.seed, "matching", number)
        order = np.array([stream.random() for _ in range(self.learners)]).argsort(kind="stable")
        partner = np.arange(self.learners)
        pairs = order[: self.learners // 2 * 2].reshape(-1, 2)
        partner[pairs[:, 0]], partner[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
        return partner

    def matrix(self, number: int) -> csr_array:
        everybody = np.arange(self.learners)
        rows = np.concatenate([everybody, everybody])
        # (I + P) / 2: two halves on the diagonal of one that sits out add up to 1.
        columns = np.concatenate([everybody, self.partners(number)])
        matrix = csr_array((np.full(len(rows), 0.5), (rows, columns)), shape=(self.learners, self.learners))
        matrix.sort_indices()
        return matrix

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"random-matching/{self.learners}/{self.seed}".encode()).hexdigest()

    @property
    def contraction(self) -> float:
        """By how much a round shrinks the learners' distance from their mean, as root mean square over draws.

        A matching's W is a projection, so that E |W x|^2 = x' E[W] x; two learners meet with probability 1/(n-1) (n
        even) or 1/n (odd), and so E[W] has one eigenvalue besides 1.
        """
        n = self.learners
        if n < 2:
            return 0.0
        return math.sqrt((n - 2) / (2 * (n - 1)) if n % 2 == 0 else 0.5)


def _rows(matrix: csr_array) -> Rows:
    rows: list[tuple[tuple[int, float], ...]] = []
    indices, weights, ends = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    for i in range(matrix.shape[0]):
        row = list(zip(indices[ends[i] : ends[i + 1]], weights[ends[i] : ends[i + 1]], strict=True))
        if all(j != i for j, _ in row):
            row = sorted([*row, (i, 0.0)])
        rows.append(tuple(row))
    return tuple(rows)
