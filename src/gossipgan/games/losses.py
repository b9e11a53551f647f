"""Losses of the two players, as functions of D's logits. Both players descend their own loss.

=============  =====================================================  ========================
loss           D                                                      G
=============  =====================================================  ========================
nonsaturating  mean softplus(-D(x)) + mean softplus(D(G(z)))          mean softplus(-D(G(z)))
hinge          mean max(0, 1 - D(x)) + mean max(0, 1 + D(G(z)))       -mean D(G(z))
wgan-gp        -mean D(x) + mean D(G(z)) + penalty                    -mean D(G(z))
=============  =====================================================  ========================

Sources: Goodfellow et al. 2014 (softplus is binary cross-entropy on logits); Miyato et al. 2018; Gulrajani et
al. 2017 (``gradient_penalty``).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Losses(NamedTuple):
    """A pair of losses on logits of shape ``(N,)``.

    ``lower_bound`` is what D's loss cannot go below (None: nothing): D that stays there has won, and G learns
    nothing more.
    """

    discriminator: Callable[[Tensor, Tensor], Tensor]
    generator: Callable[[Tensor], Tensor]
    lower_bound: float | None


LOSSES: dict[str, Losses] = {
    "nonsaturating": Losses(
        lambda real, fake: F.softplus(-real).mean() + F.softplus(fake).mean(),
        lambda fake: F.softplus(-fake).mean(),
        0.0,
    ),
    "hinge": Losses(
        lambda real, fake: F.relu(1 - real).mean() + F.relu(1 + fake).mean(),
        lambda fake: -fake.mean(),
        0.0,
    ),
    "wgan-gp": Losses(
        lambda real, fake: fake.mean() - real.mean(),
        lambda fake: -fake.mean(),
        None,
    ),
}


def gradient_penalty(
    discriminator: nn.Module, real: Tensor, fake: Tensor, mix: Tensor, labels: Tensor | None = None
) -> Tensor:
    """Mean squared distance from 1 of the gradient's norm, between real and generated pictures.

    ``E (||grad D(mix x + (1 - mix) G(z))||_2 - 1)^2``, Gulrajani et al. 2017, algorithm 1, without its weight.

    Args:
        real: pictures ``(N, C, H, W)``.
        fake: pictures ``(N, C, H, W)``, detached.
        mix: in [0, 1], shape ``(N, 1, 1, 1)``.
        labels: ``(N,)``, classes that D judges the pictures in between by; None: D knows no classes.
    """
    between = torch.lerp(fake, real, mix).requires_grad_()
    logits = discriminator(between) if labels is None else discriminator(between, labels)
    (gradient,) = torch.autograd.grad(logits.sum(), between, create_graph=True)
    norms: Tensor = torch.linalg.vector_norm(gradient.flatten(1), dim=1)
    return (norms - 1).square().mean()
