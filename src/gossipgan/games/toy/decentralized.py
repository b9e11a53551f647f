"""DPOSG, decentralized parallel optimistic gradient, on the bilinear game.

    Z_k = X_{k-1} W^t - eta g(batch_{k-1}, Z_{k-1})     reuses the last gradient
    X_k = X_{k-1} W^t - eta g(batch_k,     Z_k)         one new gradient a step

Columns are learners, W is their doubly stochastic mixing matrix, t the rounds of gossip in an iteration; Z_0 = X_0.
With W = I every learner does optimistic gradient descent ascent on its own. Source: "A Decentralized Parallel
Algorithm for Training Generative Adversarial Nets" (NeurIPS 2020), algorithm 1.
"""

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
from scipy.linalg import circulant
from scipy.sparse import csr_array

from gossipgan.games.toy.game import ROTATION, Array, Field, Game, overflowed_is_far
from gossipgan.games.toy.play import Trajectory, recorded

#: Below this share of nonzeros, products with W^t are done sparsely: 1,024 learners on a ring take no longer than 30.
_SPARSE = 0.1

TOPOLOGIES = ("ring", "complete", "exponential")


def mixing_matrix(topology: str, learners: int) -> Array:
    """W, shape (learners, learners): W[j, i] is the weight with which learner i takes what learner j sends.

    Uniform over a learner itself and those it hears from: its two neighbours (ring), all others (complete), or those
    1, 2, 4, ... places before it (exponential). Doubly stochastic and circulant; symmetric except on the exponential
    graph.
    """
    before = {
        "ring": [1, -1],
        "complete": list(range(1, learners)),
        "exponential": [2**power for power in range((learners - 1).bit_length())],
    }[topology]
    # On few learners two of the neighbours may be one.
    shifts = sorted({0} | {shift % learners for shift in before})
    first = np.zeros(learners)
    first[shifts] = 1 / len(shifts)
    mixing: Array = circulant(first).T
    return mixing


def dposg(
    eta: float, mixing: Array, rounds: int, start: Array, fields: Iterator[Field]
) -> Iterator[tuple[Array, Array]]:
    """Endless iterates (X_k, Z_k), k = 1, 2, ..., each of shape (learners, 2, d).

    Args:
        eta: step size.
        mixing: W, shape (learners, learners).
        rounds: t, at least 1.
        start: X_0, shape (learners, 2, d).
        fields: of all learners, each on its own batch; the first is that of batch_0.
    """
    # Learners are rows here, so that X W^t is (W^t)' X.
    power = np.linalg.matrix_power(mixing, rounds).T
    if np.ptp(mixing) == 0:

        def mixed(x: Array) -> Array:
            return np.broadcast_to(x.mean(axis=0), x.shape)
    else:
        product = csr_array(power) if np.count_nonzero(power) < _SPARSE * power.size else power

        def mixed(x: Array) -> Array:
            rows: Array = product @ x.reshape(len(x), -1)
            return rows.reshape(x.shape)

    x = start
    g = next(fields)(x)
    while True:
        neighbourhood = mixed(x)
        z = neighbourhood - eta * g
        g = next(fields)(z)
        x = neighbourhood - eta * g
        yield x, z


def play_dposg(game: Game, iterates: Iterator[tuple[Array, Array]], start: Array, iterations: int) -> Trajectory:
    """The distances of the learners' average, and how far they are from it, in one play of the game.

    Args:
        game: of one play; what is played.
        iterates: of ``dposg``.
        start: X_0, shape (learners, 2, d).
        iterations: how many are taken.
    """
    numbers = recorded(iterations, 1)
    wanted = set(numbers.tolist())
    rows: list[tuple[Array, Array, Array]] = []
    average = start.mean(axis=0, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        for k, x in enumerate(chain([start], (x for x, _ in islice(iterates, iterations)))):
            if k in wanted:
                average = x.mean(axis=0, keepdims=True)
                rows.append((game.distance(average), game.sum_of_norms(average), consensus_distance(x)))
    distance, sum_of_norms, consensus = (np.array(column) for column in zip(*rows, strict=True))
    return Trajectory(numbers, distance, sum_of_norms, last=average, consensus=consensus)


def consensus_distance(x: Array) -> Array:
    """sqrt(mean_i |X_i - mean_j X_j|^2) of learners' points, shape (learners, 2, d); shape (1,)."""
    squares = ((x - x.mean(axis=0)) ** 2).sum(axis=(1, 2))
    return overflowed_is_far(np.sqrt(squares.mean(keepdims=True)))


def predicted_rates(eta: float, mixing: Array, rounds: int) -> tuple[float, float]:
    """Contraction factor an iteration in full batch: of the learners' average, and of their disagreement.

    An eigenvector of W of eigenvalue mu evolves on its own, on x*y by (X, g) -> (mu^t X - eta g', g') with
    g' = J (mu^t X - eta g). The average has mu = 1, and so the rate of optimistic gradient descent ascent; the
    slowest of the others is the second number (0 for one learner). ``mixing`` must be circulant.
    """
    # Circulant matrices have the Fourier transform of a row for eigenvalues; the average's, its sum, comes first.
    eigenvalues = np.fft.fft(mixing[0])[1:]
    # Conjugate and repeated eigenvalues give the same rate; on 1,024 learners this saves most of the work.
    distinct = np.unique(np.round(eigenvalues.real + 1j * np.abs(eigenvalues.imag), 12))
    return _rate(eta, 1.0), max((_rate(eta, mu**rounds) for mu in distinct), default=0.0)


def _rate(eta: float, mu: complex) -> float:
    gradient = np.hstack([mu * ROTATION, -eta * ROTATION])
    point = np.hstack([mu * np.eye(2), np.zeros((2, 2))]) - eta * gradient
    return float(np.abs(np.linalg.eigvals(np.vstack([point, gradient]))).max())
