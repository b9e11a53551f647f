"""Decentralized training: after their fast steps, learners mix with their neighbours what they are made of."""

import hashlib
import json
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from gossipgan.mixing.base import OfLearners, Silence
from gossipgan.mixing.gossip import Gossip


class Decentralized(Silence):
    """Gossip every ``period`` iterations, over one message for each entry of ``parts``.

    Args:
        parts: players whose tensors travel in one message, and the gossip that mixes it.
        period: iterations between mixes; more than 1: local steps.
    """

    def __init__(self, parts: Sequence[tuple[tuple[str, ...], Gossip]], period: int) -> None:
        self._parts = parts
        self._period = period

    @property
    def bytes(self) -> int:  # type: ignore[override]
        return sum(gossip.bytes for _, gossip in self._parts)

    @property
    def digest(self) -> str:  # type: ignore[override]
        described = [self._period, *((players, gossip.digest) for players, gossip in self._parts)]
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()

    @torch.no_grad()
    def weights(self, iteration: int, weights: Mapping[str, OfLearners]) -> None:
        if iteration % self._period:
            return
        number = iteration // self._period - 1
        for players, gossip in self._parts:
            tensors = {
                learner: [tensor for player in players for tensor in weights[player][learner]]
                for learner in weights[players[0]]
            }
            vectors = {learner: join(mine) for learner, mine in tensors.items()}
            gossip.mix(number, vectors)
            for learner, mine in tensors.items():
                for tensor, part in zip(mine, torch.split(vectors[learner], [t.numel() for t in mine]), strict=True):
                    tensor.copy_(part.view_as(tensor))

    def tensors(self) -> dict[int, dict[str, Tensor]]:
        found: dict[int, dict[str, Tensor]] = {}
        for players, gossip in self._parts:
            for learner, mine in gossip.tensors().items():
                for name, tensor in mine.items():
                    found.setdefault(learner, {})[f"{'+'.join(players)}.{name}"] = tensor
        return found

    def load(self, tensors: Mapping[int, Mapping[str, Tensor]], *, rewired: bool = False) -> None:
        for players, gossip in self._parts:
            prefix = f"{'+'.join(players)}."
            gossip.load(
                {
                    learner: {name.removeprefix(prefix): t for name, t in mine.items() if name.startswith(prefix)}
                    for learner, mine in tensors.items()
                },
                rewired=rewired,
            )


def join(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors as one flat float32 vector: a copy."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
