"""How fast gossip brings learners to their mean: rho, the spectral gap, and what is left after t rounds.

With D = W - J/n (J: ones), a round takes the learners' deviations from their mean, x - J/n x, to D (x - J/n x). After
t rounds at most the norm of D_{t-1} ... D_0 is left of them: for a fixed symmetric W that is rho^t, rho the second
largest |eigenvalue|. Numbers that rounding leaves of an exact 0 are given as 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from gossipgan.mixing.schedule import Matchings, Schedule

#: What rounding leaves of an exact 0.
_ZERO = 1e-13

#: Rounds that nobody waits for.
_ENDLESS = 10**15

#: Symmetric matrices of more learners than this are not looked at densely.
_DENSE = 1024


@dataclass(frozen=True)
class Spectrum:
    """Contraction of a schedule's disagreement.

    For random matchings all numbers are root mean squares over draws.
    """

    schedule: Schedule

    @cached_property
    def rho(self) -> float:
        """Contraction a round: fixed W: the second largest |eigenvalue|; else the geometric mean over a period.

        0 for one learner, and where a period averages exactly; below 1 otherwise.
        """
        schedule = self.schedule
        if isinstance(schedule, Matchings):
            return schedule.contraction
        assert schedule.period is not None  # matchings alone have none
        if schedule.period > 1:
            return float(self.contraction(schedule.period) ** (1.0 / schedule.period))
        if self._circles is not None:
            return float(np.abs(self._circles[0]).max(initial=0.0))
        matrix = schedule.matrix(0)
        if schedule.symmetric:
            return _clean(_symmetric_rho(matrix))
        return _clean(np.abs(np.linalg.eigvals(_deviation(matrix))).max())

    @property
    def gap(self) -> float:
        """The spectral gap, 1 - rho."""
        return 1.0 - self.rho

    def contraction(self, rounds: int) -> float:
        """The largest share of learners' root mean square distance from their mean that ``rounds`` rounds leave.

        Of a period, the least lucky round to begin with. A fixed symmetric W: rho^rounds.
        """
        schedule = self.schedule
        if rounds == 0:
            return 1.0 if schedule.learners > 1 else 0.0
        if schedule.period is None or (schedule.period == 1 and schedule.symmetric):
            return self.rho**rounds
        whole, rest = divmod(rounds, schedule.period)
        if self._circles is not None:
            period = np.prod(self._circles, axis=0) ** whole
            parts = (np.prod(window, axis=0) for window in _windows(list(self._circles), rest))
            return min(1.0, max(float(np.abs(period * part).max(initial=0.0)) for part in parts))
        deviations = [_deviation(schedule.matrix(step)) for step in range(schedule.period)]
        left = []
        for window in _windows(deviations, schedule.period):
            period = np.linalg.matrix_power(_product(window), whole)
            # After whole periods the next rounds are again the first ones.
            left.append(float(np.linalg.norm(_product([period, *window[:rest]]), 2)))
        return _clean(min(1.0, max(left)))

    def rounds_for(self, accuracy: float) -> int | None:
        """The least number of rounds that leaves at most ``accuracy`` of the disagreement.

        Args:
            accuracy: above 0 and below 1.

        Returns:
            None where no 10^15 rounds do: where groups of learners are joined by weights near rounding.
        """
        most = 1
        while self.contraction(most) > accuracy:
            most *= 2
            if most > _ENDLESS:
                return None
        # What is left never grows from round to round, so that the least number can be bisected.
        least = 0
        while least < most:
            middle = (least + most) // 2
            if self.contraction(middle) > accuracy:
                least = middle + 1
            else:
                most = middle
        return most

    @cached_property
    def _circles(self) -> NDArray[np.complex128] | None:
        """Eigenvalues besides the mean's, shape (period, learners - 1), if every W is the same seen from any learner.

        Such circulant matrices have their eigenvectors in common, and a row's Fourier transform for eigenvalues.
        """
        schedule = self.schedule
        assert schedule.period is not None  # asked of periodic schedules alone
        rows = [_circulant_row(schedule.matrix(step)) for step in range(schedule.period)]
        found = [np.fft.fft(row)[1:] for row in rows if row is not None]
        if len(found) < len(rows):
            return None
        eigenvalues = np.array(found)
        return np.where(np.abs(eigenvalues) < _ZERO, 0.0, eigenvalues)


def _circulant_row(matrix: csr_array) -> NDArray[np.float64] | None:
    """The first row of a circulant matrix, W[i, j] = row[(j - i) mod n]; None for others."""
    n = matrix.shape[0]
    per_row = np.diff(matrix.indptr)
    if (per_row != per_row[0]).any():
        return None
    shifts = (matrix.indices - np.repeat(np.arange(n), per_row)) % n
    order = np.lexsort((shifts, np.repeat(np.arange(n), per_row)))
    shifts, weights = shifts[order].reshape(n, -1), matrix.data[order].reshape(n, -1)
    if (shifts != shifts[0]).any() or (np.abs(weights - weights[0]) > _ZERO).any():
        return None
    row = np.zeros(n)
    row[shifts[0]] = weights[0]
    return row


def _symmetric_rho(matrix: csr_array) -> float:
    """Second largest |eigenvalue| of a symmetric doubly stochastic matrix."""
    n = matrix.shape[0]
    if n <= _DENSE:
        return float(np.abs(np.linalg.eigvalsh(_deviation(matrix))).max())
    operator = LinearOperator((n, n), matvec=lambda x: matrix @ x - x.mean(), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    try:
        (found,) = eigsh(operator, k=1, which="LM", ncv=80, maxiter=30, v0=start, return_eigenvectors=False)
        return float(abs(found))
    except ArpackNoConvergence:
        # Lines and the like: their eigenvalues crowd near 1, and systems of equations with them are quickly solved.
        near_one = eigsh(matrix.tocsc(), k=2, sigma=1 + 1e-6, v0=start, return_eigenvectors=False)
        second = float(near_one.min())
        # By Gershgorin's circles no eigenvalue is below 2 min W_ii - 1.
        if 1 - 2 * matrix.diagonal().min() <= second:
            return second
        (lowest,) = eigsh(matrix.tocsc(), k=1, sigma=-1 - 1e-6, v0=start, return_eigenvectors=False)
        return max(second, -float(lowest))


def _deviation(matrix: csr_array) -> NDArray[np.float64]:
    """W - J/n: what a round does to deviations from the mean."""
    dense: NDArray[np.float64] = matrix.toarray() - 1.0 / matrix.shape[0]
    return dense


def _windows(factors: list[NDArray[Any]], length: int) -> Iterator[list[NDArray[Any]]]:
    """So many consecutive factors of a cycle, from every start."""
    for start in range(len(factors)):
        yield [factors[(start + place) % len(factors)] for place in range(length)]


def _product(factors: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The first factor acts first."""
    return reduce(lambda product, factor: factor @ product, factors)


def _clean(value: float) -> float:
    return 0.0 if value < _ZERO else float(value)
