"""DCGAN for 28, 32 and 64 pixels.

At 28 pixels and width 64 these are the MNIST networks of "Taming GANs with Lookahead-Minmax"
(ICLR 2021, appendix): G of 3.22 M and D of .66 M parameters, without biases.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

# For each size, the transposed convolutions of G as (kernel, stride, padding), first to last. G grows a
# noise vector from 1 x 1; D shrinks a picture by convolutions of kernel 4, stride 2, padding 1 down to
# ``_LAST_KERNEL`` pixels and ends in a convolution over all of them.
_UPWARDS = {
    28: ((3, 1, 0), (4, 2, 1), (4, 2, 0), (4, 2, 1)),
    32: ((4, 1, 0), (4, 2, 1), (4, 2, 1), (4, 2, 1)),
    64: ((4, 1, 0), (4, 2, 1), (4, 2, 1), (4, 2, 1), (4, 2, 1)),
}
_LAST_KERNEL = {28: 3, 32: 4, 64: 4}


class Generator(nn.Module):
    """Noise ``(N, latent)`` to pictures ``(N, channels, size, size)`` in [-1, 1].

    Channels from the first layer on: 8, 4, 2 times the width at 28 and 32 pixels (and 16 before them at 64).
    """

    def __init__(self, size: int, channels: int, width: int, latent: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        convolutions = _UPWARDS[size]
        previous = latent
        for index, (kernel, stride, padding) in enumerate(convolutions[:-1]):
            features = width * 2 ** (len(convolutions) - 1 - index)
            layers += [
                nn.ConvTranspose2d(previous, features, kernel, stride, padding, bias=False),
                nn.BatchNorm2d(features),
                nn.ReLU(inplace=True),
            ]
            previous = features
        kernel, stride, padding = convolutions[-1]
        layers += [nn.ConvTranspose2d(previous, channels, kernel, stride, padding, bias=False), nn.Tanh()]
        self.layers = nn.Sequential(*layers)

    def forward(self, noise: Tensor) -> Tensor:
        pictures: Tensor = self.layers(noise[:, :, None, None])
        return pictures


class Discriminator(nn.Module):
    """Pictures ``(N, channels, size, size)`` to logits ``(N,)``.

    Channels: 1, 2, 4 times the width at 28 and 32 pixels (and 8 after them at 64).

    Args:
        norm: ``batch`` (the paper's, in all layers but the first and the last), ``spectral`` (in all
            layers), or ``none``.
    """

    def __init__(self, size: int, channels: int, width: int, norm: str) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        previous = channels
        for index in range(len(_UPWARDS[size]) - 1):
            features = width * 2**index
            layers.append(_normed(nn.Conv2d(previous, features, 4, 2, 1, bias=False), norm))
            if norm == "batch" and index > 0:
                layers.append(nn.BatchNorm2d(features))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            previous = features
        layers.append(_normed(nn.Conv2d(previous, 1, _LAST_KERNEL[size], bias=False), norm))
        self.layers = nn.Sequential(*layers)

    def forward(self, pictures: Tensor) -> Tensor:
        return torch.flatten(self.layers(pictures))


def _normed(layer: nn.Module, norm: str) -> nn.Module:
    return spectral_norm(layer) if norm == "spectral" else layer
