"""The bilinear game, and the methods that are explained on it, exact and in numpy."""

from gossipgan.games.bilinear.contraction import measured, predicted
from gossipgan.games.bilinear.decentralized import dposg, mixing_matrix
from gossipgan.games.bilinear.game import Batch, BilinearGame, starts
from gossipgan.games.bilinear.lab import BASE_METHODS, METHODS, Outcome, Setup, run
from gossipgan.games.bilinear.lookahead import Lookahead, LookaheadSettings
from gossipgan.games.bilinear.play import Trajectory, play
from gossipgan.games.bilinear.streams import stream

__all__ = [
    "BASE_METHODS",
    "METHODS",
    "Batch",
    "BilinearGame",
    "Lookahead",
    "LookaheadSettings",
    "Outcome",
    "Setup",
    "Trajectory",
    "dposg",
    "measured",
    "mixing_matrix",
    "play",
    "predicted",
    "run",
    "starts",
    "stream",
]
