"""The order in which a learner sees its pictures."""

import torch
from torch import Tensor

from gossipgan.training.streams import Streams


class Sampler:
    """Indices of batches: passes over the shard, each in a fresh random order.

    A batch may end one pass and begin the next, so that every picture is seen equally often whatever the batch
    size. The order of pass p is the stream ``order``'s draw p; the state is one count.

    Args:
        count: pictures in the shard.
        batch: pictures in a batch.
        streams: the learner's.
        device: where the indices are wanted.
    """

    def __init__(self, count: int, batch: int, streams: Streams, device: torch.device) -> None:
        self._count = count
        self._batch = batch
        self._streams = streams
        self._device = device
        self._pass = -1
        self._order = torch.empty(0, dtype=torch.int64)
        self.drawn = 0

    def next(self) -> Tensor:
        """Indices of the next batch, shape ``(batch,)``."""
        parts, wanted = [], self._batch
        while wanted:
            number, offset = divmod(self.drawn, self._count)
            if number != self._pass:
                self._pass = number
                order = torch.randperm(self._count, generator=self._streams.at("order", number))
                self._order = order.to(self._device)
            part = self._order[offset : offset + wanted]
            parts.append(part)
            self.drawn += len(part)
            wanted -= len(part)
        return parts[0] if len(parts) == 1 else torch.cat(parts)
