"""The learner, the loop, checkpoints."""

from gossipgan.training.device import choose_device, set_up_device
from gossipgan.training.loop import resumable, train

__all__ = ["choose_device", "resumable", "set_up_device", "train"]
