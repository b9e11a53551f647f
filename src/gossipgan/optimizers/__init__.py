"""Flat players, optimizers, Lookahead, averaging."""

from gossipgan.optimizers.averaging import ExponentialAverage
from gossipgan.optimizers.flat import FlatPlayer
from gossipgan.optimizers.lookahead import JointLookahead
from gossipgan.optimizers.players import build_optimizer, load_optimizer_tensors, optimizer_tensors

__all__ = [
    "ExponentialAverage",
    "FlatPlayer",
    "JointLookahead",
    "build_optimizer",
    "load_optimizer_tensors",
    "optimizer_tensors",
]
