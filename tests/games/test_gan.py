"""Gradients of the game, against plain autograd and against each other."""

import pytest
import torch
from torch import Tensor, nn

from gossipgan.config import DataSettings, GameSettings
from gossipgan.games import LOSSES, Batch, GanGame, build
from gossipgan.games.losses import gradient_penalty


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
