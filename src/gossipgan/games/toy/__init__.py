"""Toy games with exact answers, and the methods that are explained on them, in numpy."""

from gossipgan.games.toy.bilinear import Batch, BilinearGame
from gossipgan.games.toy.contraction import measured, predicted
from gossipgan.games.toy.cubic import CubicGame
from gossipgan.games.toy.decentralized import dposg, mixing_matrix
from gossipgan.games.toy.game import Game, starts
from gossipgan.games.toy.lab import (
    BASE_METHODS,
    METHODS,
    BilinearSetup,
    CubicSetup,
    NoisySetup,
    Outcome,
    Setup,
)
from gossipgan.games.toy.lookahead import Lookahead, LookaheadSettings
from gossipgan.games.toy.noisy import NoisyGame
from gossipgan.games.toy.play import Trajectory, play
from gossipgan.games.toy.stationary import second_moment
from gossipgan.games.toy.streams import stream

__all__ = [
    "BASE_METHODS",
    "METHODS",
    "Batch",
    "BilinearGame",
    "BilinearSetup",
    "CubicGame",
    "CubicSetup",
    "Game",
    "Lookahead",
    "LookaheadSettings",
    "NoisyGame",
    "NoisySetup",
    "Outcome",
    "Setup",
    "Trajectory",
    "dposg",
    "measured",
    "mixing_matrix",
    "play",
    "predicted",
    "second_moment",
    "starts",
    "stream",
]
