"""biggan32: the published networks' parameter counts, layer by layer, and the parts that set it apart."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gossipgan.config import DataSettings, GameSettings
from gossipgan.games import build, count_parameters
from gossipgan.games.biggan32 import Discriminator, Generator
from gossipgan.games.conditional import ConditionalBatchNorm2d


def _convolution(inputs: int, outputs: int, kernel: int) -> int:
    return inputs * outputs * kernel * kernel + outputs


def _generator(ch: int, latent: int, classes: int, channels: int = 3) -> int:
    features = 4 * ch
    dense = (latent + 1) * features * 4 * 4
    norms = 2 * (2 * features * max(classes, 1))  # two a block, of a gain and a bias for each class
    convolutions = 2 * _convolution(features, features, 3) + _convolution(features, features, 1)
    return dense + 3 * (norms + convolutions) + 2 * features + _convolution(features, channels, 3)


def _discriminator(ch: int, classes: int, channels: int = 3) -> int:
    features = 4 * ch
    first = (
        _convolution(channels, features, 3) + _convolution(features, features, 3) + _convolution(channels, features, 1)
    )
    second = 2 * _convolution(features, features, 3) + _convolution(features, features, 1)
    third_and_fourth = 2 * (2 * _convolution(features, features, 3))  # no shortcut layer: neither size changes
    return first + second + third_and_fourth + (features + 1) + classes * features


@pytest.mark.parametrize(
    ("ch", "latent", "classes", "generator", "discriminator"),
    [
        (64, 128, 10, 4_304_387, 4_207_361),  # CIFAR-10, as published
        (64, 128, 0, 4_276_739, 4_204_801),
        (96, 128, 1000, 13_820_163, 9_836_929),  # wider, on ImageNet's classes
    ],
)
def test_parameters_are_those_of_the_layer_table(
    ch: int, latent: int, classes: int, generator: int, discriminator: int
) -> None:
    game = GameSettings(network="biggan32", width=ch, latent=latent, classes=classes)
    with torch.device("meta"):
        networks = build(game, DataSettings(size=32, channels=3))
    assert count_parameters(networks[0]) == _generator(ch, latent, classes) == generator
    assert count_parameters(networks[1]) == _discriminator(ch, classes) == discriminator


def test_published_generator_has_the_4_3_million_parameters_that_its_authors_code_reports() -> None:
    # github.com/ajbrock/BigGAN-PyTorch, issue 78: "about 4.3M parameters for 32X32 images i.e. CIFAR-10".
    assert round(_generator(64, 128, 10) / 1e6, 1) == 4.3


@pytest.mark.parametrize("classes", [0, 3])
def test_every_layer_has_spectral_norm_in_both_players_and_gains_and_biases_have_not(classes: int) -> None:
    torch.manual_seed(0)
    players: list[nn.Module] = [Generator(3, 4, 6, classes), Discriminator(3, 4, "spectral", classes)]
    labels = torch.arange(4) % classes if classes else None
    for _ in range(100):  # power iterations
        players[1](players[0](torch.randn(4, 6), labels), labels)
    for player in players:
        player.eval()
        layers = [part for part in player.modules() if isinstance(part, nn.Linear | nn.Conv2d | nn.Embedding)]
        assert len(layers) > 10
        for layer in layers:
            largest = torch.linalg.matrix_norm(layer.weight.detach().flatten(1), ord=2)
            assert largest.item() == pytest.approx(1, abs=0.02)
    plain = [p for name, p in players[0].named_parameters() if name.endswith(("gain", ".0.weight"))]
    assert all(p.abs().mean().item() == pytest.approx(1, abs=0.1) for p in plain)


def test_none_leaves_out_the_discriminators_spectral_norm_only() -> None:
    game = GameSettings(network="biggan32", width=4, latent=6, classes=2, discriminator_norm="none")
    generator, discriminator = build(game, DataSettings(size=32, channels=3))
    assert "dense.parametrizations.weight.original" in generator.state_dict()
    assert not any("parametrizations" in name for name in discriminator.state_dict())


def test_weights_start_from_a_normal_of_deviation_02_and_class_gains_around_1() -> None:
    torch.manual_seed(0)
    generator = Generator(channels=3, width=16, latent=64, classes=10)
    for name, parameter in generator.named_parameters():
        drawn = name.endswith(("original", "gain")) or ("residual" in name and name.endswith((".0.bias", ".4.bias")))
        if drawn:
            deviation, mean = torch.std_mean(parameter)
            assert deviation.item() == pytest.approx(0.02, rel=0.1), name
            assert mean.item() == pytest.approx(1.0 if name.endswith("gain") else 0.0, abs=0.004), name


def test_the_last_batch_norm_is_an_ordinary_one_and_all_others_are_by_class() -> None:
    generator = Generator(channels=3, width=4, latent=6, classes=5)
    by_class = [name for name, part in generator.named_modules() if isinstance(part, ConditionalBatchNorm2d)]
    assert by_class == [f"blocks.{block}.residual.{layer}" for block in range(3) for layer in (0, 4)]
    assert generator.output[0].affine


def test_shortcuts_are_those_published_with_resampling_and_1_x_1_convolution_the_other_way_round() -> None:
    torch.manual_seed(0)
    hidden = torch.randn(2, 16, 8, 8)
    growing = Generator(channels=3, width=4, latent=6).blocks[0].shortcut
    shrinking = Discriminator(channels=3, width=4, norm="none").blocks[1].shortcut
    growing.eval()
    torch.testing.assert_close(growing(hidden), growing[0](F.interpolate(hidden, scale_factor=2)))
    torch.testing.assert_close(shrinking(hidden), F.avg_pool2d(shrinking[1](hidden), 2))


def test_logit_is_linear_in_summed_features_plus_the_inner_product_with_the_classs_vector() -> None:
    torch.manual_seed(0)
    discriminator = Discriminator(channels=3, width=4, norm="none", classes=3)
    pictures, labels = torch.randn(4, 3, 32, 32), torch.tensor([1, 0, 2, 1])
    hidden = pictures
    for index, block in enumerate(discriminator.blocks[:4]):
        hidden = block(hidden)
        assert hidden.shape[2:] == ((16, 16), (8, 8), (8, 8), (8, 8))[index]
    features = hidden.relu().sum(dim=(2, 3))
    vectors = discriminator.projection.weight[labels]
    expected = features @ discriminator.output.weight[0] + discriminator.output.bias + (vectors * features).sum(1)
    torch.testing.assert_close(discriminator(pictures, labels), expected)


def test_labels_matter_to_both_players() -> None:
    torch.manual_seed(0)
    generator, discriminator = Generator(3, 4, 6, classes=2).eval(), Discriminator(3, 4, "spectral", classes=2).eval()
    noise = torch.randn(3, 6)
    zeros, ones = torch.zeros(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64)
    pictures = generator(noise, zeros)
    assert (pictures - generator(noise, ones)).abs().flatten(1).amax(1).min() > 0
    assert (discriminator(pictures, zeros) - discriminator(pictures, ones)).abs().min() > 0


@pytest.mark.parametrize("classes", [0, 2])
def test_labels_are_refused_without_classes_and_asked_for_with_them(classes: int) -> None:
    labels = None if classes else torch.zeros(2, dtype=torch.int64)
    with pytest.raises(ValueError, match="labels"):
        Generator(3, 4, 6, classes)(torch.randn(2, 6), labels)
    with pytest.raises(ValueError, match="labels"):
        Discriminator(3, 4, "spectral", classes)(torch.randn(2, 3, 32, 32), labels)
