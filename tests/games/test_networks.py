"""Networks: the published parameter counts, and shapes at every size."""

import pytest
import torch

from gossipgan.config import DataSettings, GameSettings
from gossipgan.games import build, count_parameters


def test_dcgan_at_full_width_has_the_papers_mnist_parameter_counts() -> None:
    game = GameSettings(network="dcgan", width=64, latent=128, discriminator_norm="batch")
    generator, discriminator = build(game, DataSettings(size=28, channels=1))
    # Weights: 128*512*9 + 512*256*16 + 256*128*16 + 128*16, and two a channel of each batch norm.
    assert count_parameters(generator) == 589824 + 2097152 + 524288 + 2048 + 2 * (512 + 256 + 128)
    assert count_parameters(discriminator) == 1024 + 131072 + 524288 + 256 * 9 + 2 * (128 + 256)
    assert round(count_parameters(generator) / 1e6, 2) == 3.22
    assert round(count_parameters(discriminator) / 1e6, 2) == 0.66


def test_resnet32_at_full_width_has_the_papers_5_1_million_parameters() -> None:
    game = GameSettings(network="resnet32", width=128, latent=128)
    networks = build(game, DataSettings(size=32, channels=3))
    total = sum(count_parameters(network) for network in networks)
    # G: dense, 6 convolutions of 256 to 256, 7 batch norms, the last convolution.
    generator = (128 + 1) * 4096 + 6 * (256 * 256 * 9 + 256) + 7 * 512 + (256 * 27 + 3)
    # D: first block, three more, two 1 x 1 shortcuts with a projection, the last layer.
    discriminator = (3 * 128 * 9 + 128) + 7 * (128 * 128 * 9 + 128) + (3 * 128 + 128) + (128 * 128 + 128) + 129
    assert total == generator + discriminator
    assert round(total / 1e6, 1) == 5.1


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("network", "size"), [("dcgan", 28), ("dcgan", 32), ("dcgan", 64), ("resnet32", 32), ("biggan32", 32)]
)
def test_networks_make_pictures_of_the_size_asked_for_and_one_logit_each(
    network: str, size: int, channels: int
) -> None:
    game = GameSettings.model_validate({"network": network, "width": 4, "latent": 6})
    data = DataSettings.model_validate({"size": size, "channels": channels})
    generator, discriminator = build(game, data)
    pictures = generator(torch.randn(5, 6))
    assert pictures.shape == (5, channels, size, size)
    assert pictures.abs().max() <= 1
    assert discriminator(pictures).shape == (5,)
    assert discriminator(pictures[:1]).shape == (1,)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("network", ["resnet32", "biggan32"])
def test_conditional_networks_make_pictures_of_classes_and_judge_them(network: str, channels: int) -> None:
    game = GameSettings.model_validate({"network": network, "width": 4, "latent": 6, "classes": 10})
    generator, discriminator = build(game, DataSettings(size=32, channels=channels))
    labels = torch.tensor([9, 0, 4, 4, 1])
    pictures = generator(torch.randn(5, 6), labels)
    assert pictures.shape == (5, channels, 32, 32)
    assert discriminator(pictures, labels).shape == (5,)
    assert discriminator(pictures[:1], labels[:1]).shape == (1,)


def test_conditional_resnet32_has_a_gain_a_bias_and_a_projection_vector_a_class_more() -> None:
    data = DataSettings(size=32, channels=3)
    plain, conditional = (
        [count_parameters(network) for network in build(GameSettings.model_validate(game), data)]
        for game in ({"network": "resnet32", "width": 8}, {"network": "resnet32", "width": 8, "classes": 10})
    )
    # Six batch norms of 16 features in G's blocks; features of 8 in D.
    assert conditional[0] - plain[0] == 6 * (10 - 1) * 2 * 16
    assert conditional[1] - plain[1] == 10 * 8


@pytest.mark.parametrize("network", ["dcgan", "resnet32"])
def test_spectral_norm_bounds_the_first_layer_by_its_largest_singular_value(network: str) -> None:
    torch.manual_seed(0)
    game = GameSettings.model_validate({"network": network, "width": 8, "latent": 6})
    _, discriminator = build(game, DataSettings(size=32, channels=3))
    pictures = torch.randn(4, 3, 32, 32)
    for _ in range(50):  # power iterations
        discriminator(pictures)
    discriminator.eval()
    weight = next(m.weight for m in discriminator.modules() if isinstance(m, torch.nn.Conv2d))
    assert torch.linalg.matrix_norm(weight.detach().flatten(1), ord=2).item() == pytest.approx(1, abs=1e-3)
