"""What makes networks class-conditional: batch norm by class in G. (D's part, a projection, is one line of its
forward pass.)

Labels are int64 ``(N,)`` in ``[0, classes)``; ``classes`` of 0 stands for an unconditional network, which takes
no labels.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConditionalBatchNorm2d(nn.Module):
    """Batch norm with a gain and a bias for each class: ``gain[y] * normed(h) + bias[y]``, features by features.

    Mean and variance are those of the whole batch, whatever classes are in it. Gains start at 1, biases at 0.
    De Vries et al. 2017; for G as in Miyato & Koyama, "cGANs with projection discriminator", ICLR 2018.

    Attributes:
        gain: ``(classes, features)``.
        bias: ``(classes, features)``.
    """

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(features, affine=False)
        self.gain = nn.Parameter(torch.ones(classes, features))
        self.bias = nn.Parameter(torch.zeros(classes, features))

    def forward(self, inputs: Tensor, labels: Tensor) -> Tensor:
        gain, bias = F.embedding(labels, self.gain), F.embedding(labels, self.bias)
        outputs = torch.addcmul(bias[:, :, None, None], self.norm(inputs), gain[:, :, None, None])
        return outputs.to(inputs.dtype)  # under autocast, as nn.BatchNorm2d: the product is float32


class LabelledSequential(nn.Sequential):
    """A sequence that passes the labels on to its conditional batch norms."""

    def forward(self, inputs: Tensor, labels: Tensor | None = None) -> Tensor:
        for part in self:
            inputs = part(inputs, labels) if isinstance(part, ConditionalBatchNorm2d) else part(inputs)
        return inputs


def batch_norm(features: int, classes: int) -> nn.Module:
    """Conditional batch norm, or with no classes the ordinary one."""
    return ConditionalBatchNorm2d(features, classes) if classes else nn.BatchNorm2d(features)


def check_labels(labels: Tensor | None, classes: int) -> None:
    """Labels go with class-conditional networks and with no others.

    Raises:
        ValueError: they are missing, or too much.
    """
    if labels is None and classes:
        raise ValueError(f"a network conditional on {classes} classes needs labels")
    if labels is not None and not classes:
        raise ValueError("an unconditional network takes no labels")
