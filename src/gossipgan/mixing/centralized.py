"""Centralized training: every learner steps by the mean of all learners' gradients.

They then differ in nothing but their batches (and in the batch-norm statistics of these), as in data-parallel
training. CP-OAdam of the decentralized paper is this with optimistic Adam.
"""

import torch
from torch import Tensor

from gossipgan.mixing.arithmetic import mean, weighted_sum
from gossipgan.mixing.base import OfLearners, Silence
from gossipgan.mixing.group import Group


class AllReduce(Silence):
    """The mean by an all-reduce. Across processes the order of its sum is the library's."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.bytes = 0

    @torch.no_grad()
    def gradients(self, gradients: OfLearners) -> None:
        for total, mine in zip(*_joined(gradients), strict=True):
            weighted_sum(((1.0, one) for one in mine), total)
            self._group.sum(total)
            total.mul_(1.0 / self._group.learners)
            for one in mine:
                one.copy_(total)
            # A ring all-reduce: each learner sends every part of the vector, less its own, twice.
            self.bytes += len(mine) * 2 * total.nbytes * (self._group.learners - 1) // self._group.learners


class Server(Silence):
    """The mean through learner 0, which collects all gradients and returns it to all."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.bytes = 0

    @torch.no_grad()
    def gradients(self, gradients: OfLearners) -> None:
        for total, mine in zip(*_joined(gradients), strict=True):
            everybody = self._group.gather(mine)
            if self._group.main:
                total.copy_(mean(everybody))
            self._group.spread(total)
            for one in mine:
                one.copy_(total)
            sent = len(mine) - 1 if self._group.main else len(mine)
            returned = self._group.learners - 1 if self._group.main else 0
            self.bytes += (sent + returned) * total.nbytes


def _joined(gradients: OfLearners) -> tuple[list[Tensor], list[list[Tensor]]]:
    """Room for each total, and the local learners' tensors that go into it."""
    by_tensor = [list(tensors) for tensors in zip(*gradients.values(), strict=True)]
    return [torch.empty_like(tensors[0]) for tensors in by_tensor], by_tensor
