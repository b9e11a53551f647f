"""resnet32: its names and first weights without classes; labels with them."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from gossipgan.games.resnet32 import Discriminator, Generator


def _drawn(layer: nn.Linear | nn.Conv2d, gain: float = 1.0) -> list[Tensor]:
    nn.init.xavier_uniform_(layer.weight, gain)
    return [layer.weight, layer.bias]


def test_unconditional_generator_has_these_parameters_in_this_order() -> None:
    names = [name for name, _ in Generator(channels=3, width=4, latent=6).named_parameters()]
    block = [f"residual.{layer}.{kind}" for layer in (0, 3, 4, 6) for kind in ("weight", "bias")]
    assert names == [
        "dense.weight",
        "dense.bias",
        *(f"blocks.{index}.{name}" for index in range(3) for name in block),
        "output.0.weight",
        "output.0.bias",
        "output.2.weight",
        "output.2.bias",
    ]


def test_unconditional_generator_draws_its_weights_layer_by_layer_and_nothing_else() -> None:
    torch.manual_seed(5)
    generator = Generator(channels=3, width=4, latent=6)
    following = torch.rand(1)
    torch.manual_seed(5)
    drawn = _drawn(nn.Linear(6, 8 * 16))
    for _ in range(6):
        drawn += _drawn(nn.Conv2d(8, 8, 3))
    drawn += _drawn(nn.Conv2d(8, 3, 3))
    assert torch.equal(torch.rand(1), following)
    layers = [layer for layer in generator.modules() if isinstance(layer, nn.Linear | nn.Conv2d)]
    weights = [parameter for layer in layers for parameter in (layer.weight, layer.bias)]
    assert len(weights) == len(drawn)
    assert all(map(torch.equal, weights, drawn))


def test_unconditional_discriminator_draws_its_weights_layer_by_layer_and_nothing_else() -> None:
    torch.manual_seed(5)
    discriminator = Discriminator(channels=3, width=4, norm="spectral")
    following = torch.rand(1)
    torch.manual_seed(5)
    drawn: dict[str, list[Tensor]] = {}

    def draw(name: str, layer: nn.Linear | nn.Conv2d, gain: float = 1.0) -> None:
        drawn[name] = _drawn(layer, gain)
        spectral_norm(layer)  # draws its first vectors

    draw("blocks.0.residual.0", nn.Conv2d(3, 4, 3))
    draw("blocks.0.residual.2", nn.Conv2d(4, 4, 3))
    draw("blocks.0.shortcut.1", nn.Conv2d(3, 4, 1), 2**0.5)
    draw("blocks.1.residual.1", nn.Conv2d(4, 4, 3))
    draw("blocks.1.residual.3", nn.Conv2d(4, 4, 3))
    draw("blocks.1.shortcut.0", nn.Conv2d(4, 4, 1), 2**0.5)
    for block in (2, 3):
        draw(f"blocks.{block}.residual.1", nn.Conv2d(4, 4, 3))
        draw(f"blocks.{block}.residual.3", nn.Conv2d(4, 4, 3))
    draw("output", nn.Linear(4, 1))
    assert torch.equal(torch.rand(1), following)
    parameters = dict(discriminator.named_parameters())
    assert len(parameters) == 2 * len(drawn)
    for name, (weight, bias) in drawn.items():
        assert torch.equal(parameters[f"{name}.parametrizations.weight.original"], weight)
        assert torch.equal(parameters[f"{name}.bias"], bias)


def test_conditional_generator_makes_the_unconditional_ones_pictures_until_a_class_is_set_apart() -> None:
    torch.manual_seed(2)
    plain = Generator(channels=1, width=4, latent=6)
    torch.manual_seed(2)  # batch norms draw nothing
    conditional = Generator(channels=1, width=4, latent=6, classes=3)
    noise, labels = torch.randn(8, 6), torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
    before = conditional(noise, labels).detach()
    torch.testing.assert_close(before, plain(noise))
    with torch.no_grad():
        conditional.blocks[-1].residual[4].gain[1] *= 2
    # In eval mode, so that a class cannot act on the others through the batch's statistics.
    changed = conditional.eval()(noise, labels) - plain.eval()(noise)
    assert changed.abs().amax(dim=(1, 2, 3)).gt(1e-4).tolist() == (labels == 1).tolist()


@pytest.mark.parametrize("norm", ["none", "spectral"])
def test_conditional_logit_is_the_linear_one_plus_the_inner_product_with_the_classs_vector(norm: str) -> None:
    torch.manual_seed(2)
    discriminator = Discriminator(channels=1, width=4, norm=norm, classes=3)
    pictures, labels = torch.randn(5, 1, 32, 32), torch.tensor([0, 2, 1, 2, 0])
    for _ in range(50):  # power iterations
        discriminator(pictures, labels)
    discriminator.eval()
    features = discriminator.blocks(pictures).mean(dim=(2, 3))
    vectors = dict(discriminator.named_parameters())[
        "projection.weight" if norm == "none" else "projection.parametrizations.weight.original"
    ]
    assert vectors.shape == (3, 4)
    if norm == "spectral":
        vectors = vectors / torch.linalg.matrix_norm(vectors, ord=2)
    weight, bias = discriminator.output.weight[0], discriminator.output.bias[0]
    expected = torch.stack(
        [weight @ h + bias + vectors[label] @ h for h, label in zip(features, labels.tolist(), strict=True)]
    )
    torch.testing.assert_close(discriminator(pictures, labels), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "network",
    [lambda: Generator(1, 4, 6, classes=3), lambda: Discriminator(1, 4, "none", classes=3)],
    ids=["generator", "discriminator"],
)
def test_conditional_networks_refuse_to_guess_a_class(network: Callable[[], nn.Module]) -> None:
    with pytest.raises(ValueError, match="needs labels"):
        network()(torch.randn(2, 1, 32, 32))


def test_unconditional_discriminator_is_the_linear_layer_on_mean_features() -> None:
    discriminator = Discriminator(channels=1, width=4, norm="none")
    pictures = torch.randn(5, 1, 32, 32)
    features = discriminator.blocks(pictures).mean(dim=(2, 3))
    expected = F.linear(features, discriminator.output.weight, discriminator.output.bias)[:, 0]
    assert torch.equal(discriminator(pictures), expected)
