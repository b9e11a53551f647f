"""The lab: a method on a game at several seeds, from names and numbers to distances and what theory says of them."""

from gossipgan.games.toy.lab.bilinear import BilinearSetup
from gossipgan.games.toy.lab.cubic import CubicSetup
from gossipgan.games.toy.lab.noisy import NoisySetup
from gossipgan.games.toy.lab.outcome import Comparison, Outcome
from gossipgan.games.toy.lab.setup import BASE_METHODS, METHODS, Setup

__all__ = [
    "BASE_METHODS",
    "METHODS",
    "BilinearSetup",
    "Comparison",
    "CubicSetup",
    "NoisySetup",
    "Outcome",
    "Setup",
]
