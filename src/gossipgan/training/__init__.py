"""The learner, the loop, checkpoints, and the processes of a run."""

from gossipgan.training.device import choose_device, set_up_device
from gossipgan.training.keeper import keep
from gossipgan.training.launch import check_rewirable, in_process_group, joined, launch, local_device
from gossipgan.training.loop import learners_left, resumable, train

__all__ = [
    "check_rewirable",
    "choose_device",
    "in_process_group",
    "joined",
    "keep",
    "launch",
    "learners_left",
    "local_device",
    "resumable",
    "set_up_device",
    "train",
]
