"""The games: GAN losses, networks by name."""

from gossipgan.games.gan import Batch, GanGame
from gossipgan.games.losses import LOSSES
from gossipgan.games.networks import build, count_parameters

__all__ = ["LOSSES", "Batch", "GanGame", "build", "count_parameters"]
