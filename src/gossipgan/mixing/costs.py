"""What a step's exchange costs: messages, bytes, and the time that they take at least on given links.

Times are of the model without contention inside the network: hosts send and receive at once, each over its own full
duplex link; messages of one host follow one another on its link; a round begins when all have ended the one before.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossipgan.mixing.links import Link
from gossipgan.mixing.schedule import Schedule


@dataclass(frozen=True)
class Cost:
    """Of one step.

    Attributes:
        messages: sent by the busiest learner; a mean over the period where rounds differ.
        bytes: sent by the busiest learner.
        total_bytes: sent by all learners.
        seconds: from start to end.
    """

    messages: float
    bytes: float
    total_bytes: float
    seconds: float


@dataclass(frozen=True)
class Degrees:
    """To how many others a learner sends in a round: least, mean and most over learners and a period."""

    least: int
    mean: float
    most: int


def degrees(schedule: Schedule) -> Degrees:
    """Links that learners send over, itself left out; of a random matching, one or none."""
    sent = np.array([sends for sends, _ in _sent_and_heard(schedule)])
    return Degrees(int(sent.min()), float(sent.mean()), int(sent.max()))


def gossip(schedule: Schedule, rounds: int, size: float, link: Link) -> Cost:
    """``rounds`` rounds in which every learner sends its ``size`` bytes to its neighbours."""
    per_round = _sent_and_heard(schedule)
    busiest = float(np.mean([sent.max() for sent, _ in per_round]))
    total = float(np.mean([sent.sum() for sent, _ in per_round]))
    times = [_round(int(max(sent.max(), heard.max())), size, link) for sent, heard in per_round]
    return Cost(
        messages=rounds * busiest,
        bytes=rounds * busiest * size,
        total_bytes=rounds * total * size,
        seconds=rounds * float(np.mean(times)),
    )


def all_reduce(learners: int, size: float, link: Link) -> Cost:
    """Ring all-reduce: 2 (n-1) turns, in each of which everybody passes an n-th of its bytes on."""
    turns = 2 * (learners - 1)
    part = size / learners
    return Cost(turns, turns * part, learners * turns * part, turns * link.seconds(part))


def server(learners: int, size: float, link: Link) -> Cost:
    """One of the learners collects everybody's bytes over its own link, and then returns as many to each."""
    others = learners - 1
    return Cost(others, others * size, 2 * others * size, 2 * _round(others, size, link))


def _round(messages: int, size: float, link: Link) -> float:
    return link.seconds(messages * size) if messages else 0.0


def _sent_and_heard(schedule: Schedule) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each round of a period, to and from how many others each learner's messages go, shape (learners,)."""
    rounds = []
    for step in range(schedule.period or 1):
        links = schedule.matrix(step).copy()
        links.setdiag(0.0)
        links.eliminate_zeros()
        heard = np.diff(links.indptr)
        sent = np.bincount(links.indices, minlength=schedule.learners)
        rounds.append((sent, heard))
    return rounds
