"""gossipgan: an experiment-tracking sweep platform for GAN training."""

__version__ = "0.1.0"
