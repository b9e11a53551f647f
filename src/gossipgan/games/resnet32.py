"""ResNet for 32 x 32 pictures, as in "Taming GANs with Lookahead-Minmax" (ICLR 2021, appendix).

G: a dense layer and three residual blocks of twice the width, with batch norm. D: four residual blocks of the
width, with spectral norm. At width 128 with RGB pictures and z of 128 they have 5.1 M parameters together.

With classes they are those of "cGANs with projection discriminator" (Miyato & Koyama, ICLR 2018): batch norm by class
in G's blocks (the last batch norm is an ordinary one), and in D the inner product of the features with a vector of the
class, added to the logit. (That paper sums the features over the picture; these networks average.)
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from gossipgan.games.conditional import LabelledSequential, batch_norm, check_labels


class Generator(nn.Module):
    """Noise ``(N, latent)``, and labels ``(N,)`` where there are classes, to pictures ``(N, channels, 32, 32)`` in
    [-1, 1]."""

    def __init__(self, channels: int, width: int, latent: int, classes: int = 0) -> None:
        super().__init__()
        self._classes = classes
        features = 2 * width
        self.dense = nn.Linear(latent, features * 4 * 4)
        nn.init.xavier_uniform_(self.dense.weight)
        self.blocks = nn.Sequential(*(_GrowingBlock(features, classes) for _ in range(3)))
        self.output = nn.Sequential(
            nn.BatchNorm2d(features), nn.ReLU(inplace=True), _convolution(features, channels, 3), nn.Tanh()
        )

    def forward(self, noise: Tensor, labels: Tensor | None = None) -> Tensor:
        check_labels(labels, self._classes)
        hidden = self.dense(noise).unflatten(1, (-1, 4, 4))
        for block in self.blocks:
            hidden = block(hidden, labels)
        pictures: Tensor = self.output(hidden)
        return pictures


class Discriminator(nn.Module):
    """Pictures ``(N, channels, 32, 32)``, and labels ``(N,)`` where there are classes, to logits ``(N,)``. ``norm`` is
    ``spectral`` or ``none``."""

    def __init__(self, channels: int, width: int, norm: str, classes: int = 0) -> None:
        super().__init__()
        self._classes = classes
        self.blocks = nn.Sequential(
            _ShrinkingBlock(channels, width, norm, first=True, shrink=True),
            _ShrinkingBlock(width, width, norm, first=False, shrink=True),
            _ShrinkingBlock(width, width, norm, first=False, shrink=False),
            _ShrinkingBlock(width, width, norm, first=False, shrink=False),
            nn.ReLU(inplace=True),
        )
        output = nn.Linear(width, 1)
        nn.init.xavier_uniform_(output.weight)
        self.output = spectral_norm(output) if norm == "spectral" else output
        self.projection: nn.Module | None = None
        if classes:
            vectors = nn.Embedding(classes, width)
            nn.init.xavier_uniform_(vectors.weight)
            self.projection = spectral_norm(vectors) if norm == "spectral" else vectors

    def forward(self, pictures: Tensor, labels: Tensor | None = None) -> Tensor:
        check_labels(labels, self._classes)
        features = self.blocks(pictures).mean(dim=(2, 3))
        logits = torch.flatten(self.output(features))
        if self.projection is not None:
            logits = logits + (self.projection(labels) * features).sum(dim=1)
        return logits


class _GrowingBlock(nn.Module):
    """Residual block of G: doubles height and width."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.residual = LabelledSequential(
            batch_norm(features, classes),
            nn.ReLU(inplace=True),
            nn.Upsample(scale_factor=2),
            _convolution(features, features, 3),
            batch_norm(features, classes),
            nn.ReLU(inplace=True),
            _convolution(features, features, 3),
        )
        self.shortcut = nn.Upsample(scale_factor=2)

    def forward(self, inputs: Tensor, labels: Tensor | None) -> Tensor:
        outputs: Tensor = self.shortcut(inputs) + self.residual(inputs, labels)
        return outputs


class _ShrinkingBlock(nn.Module):
    """Residual block of D; the first one has no activation before its convolutions."""

    def __init__(self, inputs: int, outputs: int, norm: str, *, first: bool, shrink: bool) -> None:
        super().__init__()
        residual: list[nn.Module] = [] if first else [nn.ReLU()]
        residual += [
            _convolution(inputs, outputs, 3, norm),
            nn.ReLU(inplace=True),
            _convolution(outputs, outputs, 3, norm),
        ]
        shortcut: list[nn.Module] = []
        if shrink:
            residual.append(nn.AvgPool2d(2))
            project = _convolution(inputs, outputs, 1, norm, gain=math.sqrt(2))
            shortcut = [nn.AvgPool2d(2), project] if first else [project, nn.AvgPool2d(2)]
        self.residual = nn.Sequential(*residual)
        self.shortcut = nn.Sequential(*shortcut)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.residual(inputs) + self.shortcut(inputs)
        return outputs


def _convolution(inputs: int, outputs: int, kernel: int, norm: str = "none", gain: float = 1.0) -> nn.Module:
    layer = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2)
    nn.init.xavier_uniform_(layer.weight, gain)
    return spectral_norm(layer) if norm == "spectral" else layer
