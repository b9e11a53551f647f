"""Exponential graphs: links over 1, 2, 4, ... places round the circle.

Source: Ying, Yuan, Chen, Hu, Pan and Yin, "Exponential Graph is Provably Efficient for Decentralized Deep Training"
(NeurIPS 2021).
"""

from gossipgan.mixing.graph import Graph
from gossipgan.mixing.schedule import Schedule
from gossipgan.mixing.topologies.request import Request


def exponential(request: Request) -> Schedule:
    """Learner i sends to i + 1, i + 2, i + 4, ...: directed, with ceil(log2 n) neighbours.

    With uniform weights rho is 1 - 2 / (1 + ceil(log2 n)) for even n, and less for odd n.
    """
    return request.schedule([Graph.shifts(request.learners, _powers(request.learners))])


def symmetric_exponential(request: Request) -> Schedule:
    """Links both ways over 1, 2, 4, ... places: for methods whose W is symmetric."""
    powers = _powers(request.learners)
    return request.schedule([Graph.shifts(request.learners, [*powers, *(-power for power in powers)])])


def one_peer_exponential(request: Request) -> Schedule:
    """In round t learner i sends to i + 2^(t mod p) alone, p = ceil(log2 n): one message a round.

    After p rounds in a row, begun at any t, everybody holds the mean of 2^p consecutive learners, counted round the
    circle: the exact mean where n is a power of two. Elsewhere some are counted twice, and disagreement shrinks by
    max_k |sin(pi k 2^p / n) / (2^p sin(pi k / n))| in a period.
    """
    return request.schedule([Graph.shifts(request.learners, [power]) for power in _powers(request.learners) or [0]])


def _powers(learners: int) -> list[int]:
    """1, 2, 4, ..., below the number of learners."""
    return [1 << power for power in range((learners - 1).bit_length())]
