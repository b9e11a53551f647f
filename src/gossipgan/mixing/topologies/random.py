"""Random graphs, drawn at a seed until one is connected; and random matchings."""

import math
import random

import networkx as nx

from gossipgan.mixing.schedule import Matchings, Schedule
from gossipgan.mixing.topologies.request import Request


def random_regular(request: Request) -> Schedule:
    """Everybody has ``degree`` neighbours, 4 if not given (less for fewer than five learners)."""
    n = request.learners
    degree = min(4, n - 1) if request.degree is None else request.degree
    if not 0 <= degree < n or (n > 1 and degree == 0):
        raise request.mistake(f"degree {degree}: must be from 1 to {n - 1} for {n} learners")
    if n * degree % 2:
        raise request.mistake(f"degree {degree}: {n} learners, an odd number, need an even degree")
    request.afford(n * degree / 2)

    def make(stream: random.Random) -> nx.Graph:
        return nx.random_regular_graph(degree, n, seed=stream)

    return request.schedule([request.drawn(make, "use a larger degree")])


def erdos_renyi(request: Request) -> Schedule:
    """Each pair is linked with ``probability``; if not given, 2 ln(n) / n, at which most graphs are connected."""
    n = request.learners
    threshold = math.log(n) / n
    # One learner's threshold is 0, and so would be the probability of the links that it has not.
    probability = min(1.0, 2 * threshold) or 1.0 if request.probability is None else request.probability
    if not 0 < probability <= 1:
        raise request.mistake(f"probability {probability:g}: must be above 0 and at most 1")
    request.afford(probability * n * (n - 1) / 2)

    def make(stream: random.Random) -> nx.Graph:
        return nx.fast_gnp_random_graph(n, probability, seed=stream)

    advice = f"use a probability above {threshold:.2g}, that is ln(n) / n"
    return request.schedule([request.drawn(make, advice)])


def small_world(request: Request) -> Schedule:
    """A ring with links to ``degree`` nearest learners (4 if not given), each rewired with ``probability`` (.1).

    Source: Watts and Strogatz, "Collective dynamics of 'small-world' networks" (1998).
    """
    n = request.learners
    # Of two learners each is the other's nearest on both sides.
    degree = min(4, (n - 1) // 2 * 2) if request.degree is None else request.degree
    probability = 0.1 if request.probability is None else request.probability
    if request.degree is not None and (degree % 2 or not 0 < degree < n):
        raise request.mistake(f"degree {degree}: must be even, above 0 and below the number of learners ({n})")
    if not 0 <= probability <= 1:
        raise request.mistake(f"probability {probability:g}: must be from 0 to 1")
    request.afford(n * degree / 2)

    def make(stream: random.Random) -> nx.Graph:
        return nx.path_graph(n) if n <= 2 else nx.watts_strogatz_graph(n, degree, probability, seed=stream)

    return request.schedule([request.drawn(make, "use a larger degree, or a smaller probability")])


def random_matching(request: Request) -> Schedule:
    """Learners in pairs, drawn anew in every round; each pair takes its mean, whatever the weights are called."""
    if request.weights == "given":
        raise request.mistake("weights: given are those of a file; use topology custom, or other weights")
    return Matchings(request.learners, request.seed)
