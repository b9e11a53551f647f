"""Gradients of the game, against plain autograd and against each other."""

import pytest
import torch
from torch import Tensor, nn

from gossipgan.config import DataSettings, GameSettings
from gossipgan.games import LOSSES, Batch, GanGame, build
from gossipgan.games.losses import gradient_penalty
from gossipgan.optimizers.flat import FlatPlayer


def _game(loss: str, norm: str = "none") -> tuple[GanGame, Batch]:
    torch.manual_seed(3)
    settings = GameSettings.model_validate({"width": 4, "latent": 5, "loss": loss, "discriminator_norm": norm})
    generator, discriminator = build(settings, DataSettings())
    batch = Batch(torch.rand(6, 1, 28, 28) * 2 - 1, torch.randn(6, 5), torch.rand(6, 1, 1, 1))
    return GanGame(generator, discriminator, loss, penalty=10.0), batch


def _gradients(network: nn.Module) -> list[Tensor]:
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in network.parameters()]


def _plain(game: GanGame, batch: Batch, loss: str) -> tuple[list[Tensor], list[Tensor]]:
    """Both players' gradients at one point by textbook autograd, with everything computed twice."""
    losses, generator, discriminator = LOSSES[loss], game.generator, game.discriminator
    on_discriminator = losses.discriminator(discriminator(batch.real), discriminator(generator(batch.noise).detach()))
    if loss == "wgan-gp":
        fake = generator(batch.noise).detach()
        on_discriminator = on_discriminator + 10 * gradient_penalty(discriminator, batch.real, fake, batch.mix)
    on_generator = losses.generator(discriminator(generator(batch.noise)))
    return (
        list(torch.autograd.grad(on_discriminator, list(discriminator.parameters()))),
        list(torch.autograd.grad(on_generator, list(generator.parameters()))),
    )


@pytest.mark.parametrize("loss", list(LOSSES))
def test_each_gradient_is_that_of_plain_autograd_and_touches_its_player_alone(loss: str) -> None:
    game, batch = _game(loss)
    expected_d, expected_g = _plain(game, batch, loss)
    game.discriminator_gradient(batch)
    torch.testing.assert_close(_gradients(game.discriminator), expected_d)
    assert all(p.grad is None for p in game.generator.parameters())
    game.discriminator.zero_grad()
    game.generator_gradient(batch.noise)
    torch.testing.assert_close(_gradients(game.generator), expected_g)
    assert all(p.grad is None for p in game.discriminator.parameters())
    assert all(p.requires_grad for p in game.discriminator.parameters())


@pytest.mark.parametrize("loss", list(LOSSES))
def test_joint_gradient_is_both_players_gradients_at_one_point(loss: str) -> None:
    game, batch = _game(loss)
    expected_d, expected_g = _plain(game, batch, loss)
    game.joint_gradient(batch)
    torch.testing.assert_close(_gradients(game.discriminator), expected_d)
    torch.testing.assert_close(_gradients(game.generator), expected_g)


def test_joint_gradient_runs_each_network_once_on_what_it_needs() -> None:
    game, batch = _game("nonsaturating")
    calls = {"generator": 0, "discriminator": 0}
    game.generator.register_forward_hook(lambda *_: calls.update(generator=calls["generator"] + 1))
    game.discriminator.register_forward_hook(lambda *_: calls.update(discriminator=calls["discriminator"] + 1))
    game.joint_gradient(batch)
    assert calls == {"generator": 1, "discriminator": 2}


def test_bf16_keeps_losses_and_gradients_in_float32_and_near_the_float32_ones() -> None:
    game, batch = _game("hinge")
    exact = game.discriminator_gradient(batch)
    rounded = GanGame(game.generator, game.discriminator, "hinge", bf16=True).discriminator_gradient(batch)
    assert rounded.dtype == torch.float32
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in game.discriminator.parameters())
    torch.testing.assert_close(rounded, exact, rtol=0.05, atol=0.05)


def _conditional(network: str, loss: str) -> tuple[GanGame, Batch]:
    torch.manual_seed(3)
    settings = GameSettings.model_validate(
        {"network": network, "width": 4, "latent": 5, "loss": loss, "discriminator_norm": "none", "classes": 3}
    )
    generator, discriminator = build(settings, DataSettings(size=32))
    # In eval mode a spectral norm's power iteration stands still: every forward pass is at one point.
    game = GanGame(generator.eval(), discriminator.eval(), loss, penalty=10.0)
    real, fake = torch.tensor([0, 1, 2, 2, 1, 0]), torch.tensor([1, 1, 0, 2, 0, 2])
    batch = Batch(torch.rand(6, 1, 32, 32) * 2 - 1, torch.randn(6, 5), torch.rand(6, 1, 1, 1), real, fake)
    return game, batch


def _plain_conditional(game: GanGame, batch: Batch, loss: str) -> tuple[list[Tensor], list[Tensor]]:
    losses, generator, discriminator = LOSSES[loss], game.generator, game.discriminator
    fake = generator(batch.noise, batch.fake_labels)
    on_discriminator = losses.discriminator(
        discriminator(batch.real, batch.labels), discriminator(fake.detach(), batch.fake_labels)
    )
    if loss == "wgan-gp":
        between = (batch.mix * batch.real + (1 - batch.mix) * fake.detach()).requires_grad_()
        (slope,) = torch.autograd.grad(discriminator(between, batch.labels).sum(), between, create_graph=True)
        on_discriminator = on_discriminator + 10 * (slope.square().sum(dim=(1, 2, 3)).sqrt() - 1).square().mean()
    on_generator = losses.generator(discriminator(fake, batch.fake_labels))
    return (
        list(torch.autograd.grad(on_discriminator, list(discriminator.parameters()), materialize_grads=True)),
        list(torch.autograd.grad(on_generator, list(generator.parameters()))),
    )


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("network", ["resnet32", "biggan32"])
def test_with_labels_separate_and_joint_gradients_are_those_of_plain_autograd(network: str, loss: str) -> None:
    game, batch = _conditional(network, loss)
    expected_d, expected_g = _plain_conditional(game, batch, loss)
    on_discriminator = game.discriminator_gradient(batch)
    torch.testing.assert_close(_gradients(game.discriminator), expected_d)
    on_generator = game.generator_gradient(batch.noise, batch.fake_labels)
    torch.testing.assert_close(_gradients(game.generator), expected_g)
    game.discriminator.zero_grad()
    game.generator.zero_grad()
    torch.testing.assert_close(game.joint_gradient(batch), (on_discriminator, on_generator))
    torch.testing.assert_close(_gradients(game.discriminator), expected_d)
    torch.testing.assert_close(_gradients(game.generator), expected_g)


@pytest.mark.parametrize("field", ["labels", "fake_labels"])
def test_either_sides_labels_change_the_discriminators_gradient(field: str) -> None:
    game, batch = _conditional("resnet32", "wgan-gp")
    game.discriminator_gradient(batch)
    before = _gradients(game.discriminator)
    game.discriminator.zero_grad()
    game.discriminator_gradient(batch._replace(**{field: torch.zeros(6, dtype=torch.int64)}))
    assert not all(map(torch.equal, before, _gradients(game.discriminator)))


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("network", ["resnet32", "biggan32"])
def test_steps_of_a_flat_discriminator_down_its_joint_gradient_lower_its_loss(
    network: str, classes: int, loss: str
) -> None:
    torch.manual_seed(3)
    settings = GameSettings.model_validate(
        {"network": network, "width": 4, "latent": 5, "loss": loss, "classes": classes}
    )
    generator, discriminator = build(settings, DataSettings(size=32))
    players = FlatPlayer(generator), FlatPlayer(discriminator)
    game = GanGame(generator, discriminator, loss, penalty=10.0)
    labels = torch.arange(8) % classes if classes else None
    batch = Batch(torch.rand(8, 1, 32, 32) * 2 - 1, torch.randn(8, 5), torch.rand(8, 1, 1, 1), labels, labels)
    losses = []
    for _ in range(6):
        for player in players:
            player.zero_grad()
        on_discriminator, _ = game.joint_gradient(batch)
        losses.append(on_discriminator[0].item())
        assert all(0 < player.gradient.norm().item() < float("inf") for player in players)
        players[1].vector.data.sub_(players[1].gradient, alpha=1e-2 / players[1].gradient.norm().item())
    assert losses[-1] < losses[0]


def test_bf16_takes_labels_too() -> None:
    game, batch = _conditional("biggan32", "hinge")
    exact = game.joint_gradient(batch)
    rounded = GanGame(game.generator, game.discriminator, "hinge", bf16=True).joint_gradient(batch)
    torch.testing.assert_close(rounded, exact, rtol=0.05, atol=0.05)
