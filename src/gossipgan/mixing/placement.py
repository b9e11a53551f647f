"""Which process hosts which learners."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from gossipgan.mixing.group import Want

#: (process, learner, tensor): a learner's message, and the process that it goes to or comes from.
Parcel = tuple[int, int, Tensor]


class Placement:
    """Consecutive learners at each process.

    Args:
        counts: learners of each process.
        mine: the number of this process.

    Attributes:
        hosted: learners by process.
        local: this process's.
    """

    def __init__(self, counts: Sequence[int], mine: int) -> None:
        ends = [sum(counts[: process + 1]) for process in range(len(counts))]
        self.hosted = [range(end - count, end) for count, end in zip(counts, ends, strict=True)]
        self.local = self.hosted[mine]
        self._mine = mine
        self._host = [process for process, hosted in enumerate(self.hosted) for _ in hosted]

    def parcels(
        self, messages: Mapping[int, Tensor], wants: Iterable[Want]
    ) -> tuple[list[Parcel], list[Parcel], dict[int, Tensor]]:
        """What an exchange sends and receives here, and every message that is wanted here or hosted here, by sender.

        A message travels once to each process where somebody wants it; both ends count in the same order.
        """
        received = dict(messages)
        like = next(iter(messages.values()))
        sends: list[Parcel] = []
        receives: list[Parcel] = []
        for sender, to in sorted({(sender, self._host[receiver]) for receiver, sender in wants}):
            at = self._host[sender]
            if at == to:
                continue
            if at == self._mine:
                sends.append((to, sender, messages[sender]))
            elif to == self._mine:
                received[sender] = torch.empty_like(like)
                receives.append((at, sender, received[sender]))
        return sends, receives, received


def evenly(learners: int, processes: int) -> list[int]:
    """Learners of each process, as evenly as they can be dealt."""
    return [learners * (one + 1) // processes - learners * one // processes for one in range(processes)]
