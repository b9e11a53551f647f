"""Flat players, optimizers, Lookahead, averaging."""

from gossipgan.optimizers.averaging import WeightAverage, exponential_average, uniform_average
from gossipgan.optimizers.extrapolation import Dposg, Extragradient
from gossipgan.optimizers.flat import FlatPlayer
from gossipgan.optimizers.lookahead import JointLookahead
from gossipgan.optimizers.optimistic import OptimisticAdam, OptimisticGradient
from gossipgan.optimizers.players import PlayerOptimizer
from gossipgan.optimizers.schedules import rate_factor

__all__ = [
    "Dposg",
    "Extragradient",
    "FlatPlayer",
    "JointLookahead",
    "OptimisticAdam",
    "OptimisticGradient",
    "PlayerOptimizer",
    "WeightAverage",
    "exponential_average",
    "rate_factor",
    "uniform_average",
]
