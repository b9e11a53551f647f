"""The learner, the loop, checkpoints, and the processes of a run."""

from gossipgan.training.device import choose_device, set_up_device
from gossipgan.training.launch import in_process_group, joined, launch, local_device
from gossipgan.training.loop import resumable, train

__all__ = [
    "choose_device",
    "in_process_group",
    "joined",
    "launch",
    "local_device",
    "resumable",
    "set_up_device",
    "train",
]
