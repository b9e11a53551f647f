"""BigGAN for 32 x 32 pictures (Brock, Donahue & Simonyan, "Large scale GAN training for high fidelity natural image
synthesis", ICLR 2019, arXiv 1809.11096), as the first author's public PyTorch code sets it up for CIFAR-10.

With ``ch`` of 64 (``game.width``), z of 128, RGB and ten classes G has 4,304,387 and D 4,207,361 parameters. Every
block has 4 ch channels.

=====================================================  =====================================================
G                                                      D
=====================================================  =====================================================
dense to 4 x 4                                         block, to 16 x 16, without a first activation
block, to 8 x 8                                        block, to 8 x 8
block, to 16 x 16                                      block
block, to 32 x 32                                      block
batch norm, ReLU, 3 x 3 convolution, tanh              ReLU, sum over the picture, dense, plus the projection
=====================================================  =====================================================

G's blocks have batch norm by class, straight from the label; the last batch norm is an ordinary one. Both players
have spectral norm on every convolution, dense layer and on D's class vectors, but not on G's gains and biases.
Weights, and gains and biases of classes (about 1 and 0), start from N(0, .02); biases of layers as PyTorch does. No
attention, no shared class embedding, no z to the blocks: that code has them off for CIFAR-10. Its other settings
there: hinge loss, Adam with betas 0 and .999, learning rates 2e-4, batch 50, 4 steps of D a step of G, 500 passes
over the data, EMA of .9999.

What this is not: the model of 158.3 M parameters (G 70.4, D 88.0) that the Lookahead paper compares itself with. That
one makes ImageNet pictures of 128 x 128: ch of 96, channels from 16 ch down to ch, five blocks in G and six in D,
attention at 64 x 64, one class embedding for all of G's blocks, and a part of z to each block. The paper's "30-fold
fewer parameters" sets it against the 5.1 M of ``resnet32``; the author's own CIFAR-10 networks are these, of 8.5 M.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from gossipgan.games.conditional import ConditionalBatchNorm2d, LabelledSequential, batch_norm, check_labels

_DEVIATION = 0.02


class Generator(nn.Module):
    """Noise ``(N, latent)`` and labels ``(N,)`` to pictures ``(N, channels, 32, 32)`` in [-1, 1].

    Args:
        channels: of the pictures.
        width: ch; the blocks have 4 times as many channels.
        latent: length of the noise.
        classes: 0 for ordinary batch norm and no labels.
    """

    def __init__(self, channels: int, width: int, latent: int, classes: int = 0) -> None:
        super().__init__()
        self._classes = classes
        features = 4 * width
        self.dense = _layer(nn.Linear(latent, features * 4 * 4))
        self.blocks = nn.ModuleList(_GrowingBlock(features, classes) for _ in range(3))
        self.output = nn.Sequential(
            nn.BatchNorm2d(features),
            nn.ReLU(inplace=True),
            _layer(nn.Conv2d(features, channels, 3, padding=1)),
            nn.Tanh(),
        )

    def forward(self, noise: Tensor, labels: Tensor | None = None) -> Tensor:
        check_labels(labels, self._classes)
        hidden = self.dense(noise).unflatten(1, (-1, 4, 4))
        for block in self.blocks:
            hidden = block(hidden, labels)
        pictures: Tensor = self.output(hidden)
        return pictures


class Discriminator(nn.Module):
    """Pictures ``(N, channels, 32, 32)`` and labels ``(N,)`` to logits ``(N,)``.

    Args:
        channels: of the pictures.
        width: ch; the blocks have 4 times as many channels.
        norm: ``spectral`` (the published) or ``none``.
        classes: 0 for no projection and no labels.
    """

    def __init__(self, channels: int, width: int, norm: str, classes: int = 0) -> None:
        super().__init__()
        self._classes = classes
        features = 4 * width
        self.blocks = nn.Sequential(
            _ShrinkingBlock(channels, features, norm, first=True, shrink=True),
            _ShrinkingBlock(features, features, norm, first=False, shrink=True),
            _ShrinkingBlock(features, features, norm, first=False, shrink=False),
            _ShrinkingBlock(features, features, norm, first=False, shrink=False),
            nn.ReLU(inplace=True),
        )
        self.output = _layer(nn.Linear(features, 1), norm)
        self.projection = _layer(nn.Embedding(classes, features), norm) if classes else None

    def forward(self, pictures: Tensor, labels: Tensor | None = None) -> Tensor:
        check_labels(labels, self._classes)
        features = self.blocks(pictures).sum(dim=(2, 3))
        logits = torch.flatten(self.output(features))
        if self.projection is not None:
            logits = logits + (self.projection(labels) * features).sum(dim=1)
        return logits


class _GrowingBlock(nn.Module):
    """Residual block of G: doubles height and width."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.residual = LabelledSequential(
            _batch_norm(features, classes),
            nn.ReLU(inplace=True),
            nn.Upsample(scale_factor=2),
            _layer(nn.Conv2d(features, features, 3, padding=1)),
            _batch_norm(features, classes),
            nn.ReLU(inplace=True),
            _layer(nn.Conv2d(features, features, 3, padding=1)),
        )
        # Published the other way round: a 1 x 1 convolution gives the same before repeating pixels, at a quarter
        # of the work.
        self.shortcut = nn.Sequential(_layer(nn.Conv2d(features, features, 1)), nn.Upsample(scale_factor=2))

    def forward(self, inputs: Tensor, labels: Tensor | None) -> Tensor:
        outputs: Tensor = self.shortcut(inputs) + self.residual(inputs, labels)
        return outputs


class _ShrinkingBlock(nn.Module):
    """Residual block of D; the first one has no activation before its convolutions."""

    def __init__(self, inputs: int, outputs: int, norm: str, *, first: bool, shrink: bool) -> None:
        super().__init__()
        residual: list[nn.Module] = [] if first else [nn.ReLU()]
        residual += [
            _layer(nn.Conv2d(inputs, outputs, 3, padding=1), norm),
            nn.ReLU(inplace=True),
            _layer(nn.Conv2d(outputs, outputs, 3, padding=1), norm),
        ]
        shortcut: list[nn.Module] = []
        if shrink:
            residual.append(nn.AvgPool2d(2))
            # In the second block published the other way round, which is the same: both are linear.
            shortcut = [nn.AvgPool2d(2), _layer(nn.Conv2d(inputs, outputs, 1), norm)]
        self.residual = nn.Sequential(*residual)
        self.shortcut = nn.Sequential(*shortcut)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.residual(inputs) + self.shortcut(inputs)
        return outputs


def _layer(layer: nn.Linear | nn.Conv2d | nn.Embedding, norm: str = "spectral") -> nn.Module:
    nn.init.normal_(layer.weight, 0.0, _DEVIATION)
    return spectral_norm(layer) if norm == "spectral" else layer


def _batch_norm(features: int, classes: int) -> nn.Module:
    norm = batch_norm(features, classes)
    if isinstance(norm, ConditionalBatchNorm2d):
        nn.init.normal_(norm.gain, 1.0, _DEVIATION)
        nn.init.normal_(norm.bias, 0.0, _DEVIATION)
    return norm
