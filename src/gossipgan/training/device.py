"""The device a run trains on, and what makes it repeatable there."""

import torch

from gossipgan.config import TrainingSettings
from gossipgan.errors import UserError


def choose_device(name: str) -> torch.device:
    """``auto`` is the first GPU where there is one, and the CPU elsewhere.

    Raises:
        UserError: the named device is not there.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UserError(
            f"training.device: {name} is not there: {torch.cuda.device_count()} GPUs found; use auto or cpu"
        )
    return device


def set_up_device(training: TrainingSettings) -> torch.device:
    """Fix the thread count, ask for repeatable kernels, and choose the device."""
    torch.set_num_threads(training.threads)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    return choose_device(training.device)
