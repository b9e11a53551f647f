"""What is asked for: a topology by name with its options, and what the families of graphs share."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx

from gossipgan.errors import UserError
from gossipgan.mixing.draws import draw
from gossipgan.mixing.graph import Graph
from gossipgan.mixing.schedule import Periodic, Schedule
from gossipgan.mixing.weights import WEIGHTS

#: As many edges as a graph may have; larger ones would take gigabytes.
_MOST_EDGES = 1_000_000

#: Draws of a random graph before it is given up as never connected.
_DRAWS = 100


@dataclass(frozen=True)
class Request:
    """A topology's name and options; None where an option was left out."""

    topology: str
    learners: int
    weights: str
    degree: int | None
    probability: float | None
    seed: int
    file: Path | None

    def mistake(self, text: str) -> UserError:
        """A mistake in this request, in one line."""
        return UserError(f"{self.topology}: {text}")

    def afford(self, edges: float) -> None:
        """Refuse a graph of too many edges before it is built."""
        if edges > _MOST_EDGES:
            raise self.mistake(
                f"{self.learners} learners have {edges:,.0f} links here; at most {_MOST_EDGES:,}: take fewer learners, "
                "or a sparser graph"
            )

    def schedule(self, graphs: Sequence[Graph]) -> Schedule:
        """The graphs of a period, with the weights that were asked for.

        ``auto``: uniform where all learners have equally many neighbours, else metropolis.
        """
        weights = self.weights
        if weights == "given":
            raise self.mistake("weights: given are those of a file; use topology custom, or other weights")
        if weights == "auto":
            regular = all(len(set(graph.in_degrees.tolist())) == 1 for graph in graphs)
            weights = "uniform" if regular else "metropolis"
        where = self.topology if self.file is None else str(self.file)
        rule = WEIGHTS[weights]
        return Periodic(self.topology, weights, [rule(graph, where) for graph in graphs], where)

    def drawn(self, make: Callable[[random.Random], nx.Graph], advice: str) -> Graph:
        """The first connected one of at most 100 graphs that ``make(random)`` draws at this request's seed."""
        for number in range(_DRAWS):
            found = make(draw(self.seed, self.topology, number))
            if nx.is_connected(found):
                return Graph.undirected(self.learners, found.edges)
        raise self.mistake(f"{_DRAWS} graphs of {self.learners} learners were drawn, none connected; {advice}")
