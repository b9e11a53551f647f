"""Networks by name: a new pair is one new file and one entry here."""

from collections.abc import Callable

from torch import nn

from gossipgan.config import DataSettings, GameSettings
from gossipgan.games import biggan32, dcgan, resnet32

Pair = tuple[nn.Module, nn.Module]


def _dcgan(game: GameSettings, data: DataSettings) -> Pair:
    return (
        dcgan.Generator(data.size, data.channels, game.width, game.latent),
        dcgan.Discriminator(data.size, data.channels, game.width, game.discriminator_norm),
    )


def _resnet32(game: GameSettings, data: DataSettings) -> Pair:
    return (
        resnet32.Generator(data.channels, game.width, game.latent, game.classes),
        resnet32.Discriminator(data.channels, game.width, game.discriminator_norm, game.classes),
    )


def _biggan32(game: GameSettings, data: DataSettings) -> Pair:
    return (
        biggan32.Generator(data.channels, game.width, game.latent, game.classes),
        biggan32.Discriminator(data.channels, game.width, game.discriminator_norm, game.classes),
    )


_BUILDERS: dict[str, Callable[[GameSettings, DataSettings], Pair]] = {
    "dcgan": _dcgan,
    "resnet32": _resnet32,
    "biggan32": _biggan32,
}


def build(game: GameSettings, data: DataSettings) -> Pair:
    """Generator and discriminator, freshly initialised from torch's global generator.

    Returns:
        G maps noise ``(N, latent)`` to pictures ``(N, channels, size, size)`` in [-1, 1]; D maps pictures to
        logits ``(N,)``. With ``game.classes`` both take labels as a second argument: int64 ``(N,)``, from 0 to
        ``classes - 1``.
    """
    return _BUILDERS[game.network](game, data)


def count_parameters(network: nn.Module) -> int:
    """Number of trainable numbers in a network."""
    return sum(parameter.numel() for parameter in network.parameters())
