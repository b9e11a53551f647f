"""Exponential moving average (EMA) of a player's weights along the run."""

from typing import Literal

import torch
from torch import Tensor

from gossipgan.optimizers.flat import FlatPlayer


class ExponentialAverage:
    """``average += (1 - decay) (weights - average)`` after every iteration, started at the initial weights.

    Args:
        player: whose weights are averaged.
        decay: in [0, 1).
        buffers: ``copy`` takes floating-point buffers (batch-norm statistics) from the player as they are at each
            update, ``average`` averages them as well. Integer buffers are copied.
    """

    def __init__(self, player: FlatPlayer, decay: float, buffers: Literal["copy", "average"]) -> None:
        self._player = player
        self._decay = decay
        self._average_buffers = buffers == "average"
        self.vector = player.vector.data.clone()
        self.buffers = {name: buffer.clone() for name, buffer in player.buffers().items()}

    @torch.no_grad()
    def update(self) -> None:
        """Take in the player's present weights."""
        self.vector.lerp_(self._player.vector.data, 1 - self._decay)
        for name, buffer in self._player.buffers().items():
            if self._average_buffers and buffer.is_floating_point():
                self.buffers[name].lerp_(buffer, 1 - self._decay)
            else:
                self.buffers[name].copy_(buffer)

    def tensors(self) -> dict[str, Tensor]:
        """The average's state by name. Not copies."""
        return {"vector": self.vector, **{f"buffer.{name}": buffer for name, buffer in self.buffers.items()}}
