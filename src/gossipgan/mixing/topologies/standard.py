"""Static graphs that a name and a number of learners decide."""

import math

import networkx as nx

from gossipgan.mixing.graph import Graph
from gossipgan.mixing.schedule import Schedule
from gossipgan.mixing.topologies.request import Request


def ring(request: Request) -> Schedule:
    """Everybody has two neighbours; two learners have one another."""
    return request.schedule([Graph.of_networkx(nx.cycle_graph(request.learners))])


def line(request: Request) -> Schedule:
    """A ring that is cut open."""
    return request.schedule([Graph.of_networkx(nx.path_graph(request.learners))])


def star(request: Request) -> Schedule:
    """Learner 0 is everybody's neighbour, and their only one."""
    return request.schedule([Graph.of_networkx(nx.star_graph(request.learners - 1))])


def complete(request: Request) -> Schedule:
    """Everybody hears everybody."""
    request.afford(request.learners * (request.learners - 1) / 2)
    return request.schedule([Graph.of_networkx(nx.complete_graph(request.learners))])


def grid(request: Request) -> Schedule:
    """Rows and columns, as near to a square as the number of learners allows; numbered row by row."""
    return _lattice(request, wrapped=False)


def torus(request: Request) -> Schedule:
    """A grid whose rows and columns are rings."""
    return _lattice(request, wrapped=True)


def _lattice(request: Request, wrapped: bool) -> Schedule:
    rows, columns = square_factors(request.learners)
    if rows == 1 and columns > 2:
        raise request.mistake(
            f"{columns} learners make no rows and columns, since {columns} is prime; "
            f"use {columns + 1} learners, or {'ring' if wrapped else 'line'}"
        )
    return request.schedule([Graph.of_networkx(nx.grid_2d_graph(rows, columns, periodic=wrapped))])


def square_factors(learners: int) -> tuple[int, int]:
    """Rows and columns, rows <= columns, whose product is the number of learners and that differ least."""
    rows = next(rows for rows in range(math.isqrt(learners), 0, -1) if learners % rows == 0)
    return rows, learners // rows


def hypercube(request: Request) -> Schedule:
    """Learners whose numbers differ in one binary digit are neighbours."""
    n = request.learners
    if n & (n - 1):
        below = 1 << (n.bit_length() - 1)
        raise request.mistake(f"{n} learners are no power of two; use {below} or {2 * below}")
    dimension = n.bit_length() - 1
    return request.schedule([Graph.undirected(n, ((i, i ^ 1 << b) for i in range(n) for b in range(dimension)))])
