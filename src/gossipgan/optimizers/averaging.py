"""Averages of a player's weights along the run."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from gossipgan.optimizers.flat import FlatPlayer

Buffers = Literal["copy", "average"]


class WeightAverage:
    """``average += share (weights - average)`` at every update, started at the initial weights.

    Args:
        player: whose weights are averaged.
        share: from the update's number, from 1, to what the newest weights count.
        buffers: ``copy`` takes the player's buffers as they are at each update; ``average`` averages its batch-norm
            statistics as it averages weights, and copies the others.
    """

    def __init__(self, player: FlatPlayer, share: Callable[[int], float], buffers: Buffers) -> None:
        self._player = player
        self._share = share
        self._averaged = set(player.batch_norm_statistics()) if buffers == "average" else set()
        self.updates = 0
        self.vector = player.vector.data.clone()
        self.buffers = {name: buffer.clone() for name, buffer in player.buffers().items()}

    @torch.no_grad()
    def update(self) -> None:
        """Take in the player's present weights."""
        self.updates += 1
        share = self._share(self.updates)
        self.vector.lerp_(self._player.vector.data, share)
        for name, buffer in self._player.buffers().items():
            if name in self._averaged:
                self.buffers[name].lerp_(buffer, share)
            else:
                self.buffers[name].copy_(buffer)

    def tensors(self) -> dict[str, Tensor]:
        """The average by name. Not copies."""
        return {"vector": self.vector, **{f"buffer.{name}": buffer for name, buffer in self.buffers.items()}}


def exponential_average(player: FlatPlayer, decay: float, buffers: Buffers) -> WeightAverage:
    """EMA: ``average <- decay average + (1 - decay) weights``, with decay in [0, 1)."""
    return WeightAverage(player, lambda update: 1 - decay, buffers)


def uniform_average(player: FlatPlayer, buffers: Buffers) -> WeightAverage:
    """The plain mean of the weights at all updates; before the first, the initial weights."""
    return WeightAverage(player, lambda update: 1 / update, buffers)
