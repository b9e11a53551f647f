"""Optimizers of single players, by name, over flat vectors: torch.optim's own."""

import torch
from torch import Tensor

from gossipgan.config import PlayerSettings
from gossipgan.optimizers.flat import FlatPlayer


def build_optimizer(name: str, player: FlatPlayer, settings: PlayerSettings) -> torch.optim.Optimizer:
    """The optimizer of one player. Its fused kernel makes one pass over the flat vectors."""
    if name != "adam":
        raise ValueError(f"no optimizer {name!r}")
    return torch.optim.Adam(
        [player.vector],
        lr=settings.lr,
        betas=(settings.beta1, settings.beta2),
        eps=settings.eps,
        weight_decay=settings.weight_decay,
        fused=True,
    )


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """State tensors of an optimizer over one flat vector, by name (``exp_avg``, ``step``, ...). Not copies."""
    (vector,) = optimizer.param_groups[0]["params"]
    return dict(optimizer.state[vector])


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put copies of saved state tensors in place of an optimizer's own, on its device."""
    (vector,) = optimizer.param_groups[0]["params"]
    optimizer.state[vector] = {name: tensor.to(vector.device, copy=True) for name, tensor in tensors.items()}
