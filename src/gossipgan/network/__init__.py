"""Exchanges over slow networks: hosts on this machine, what exchanges between them take, and a model of that."""

from gossipgan.network.bench import Bench, Row, bench_network

__all__ = ["Bench", "Row", "bench_network"]
