"""A learner against a bare loop written by hand, and against itself under other settings."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gossipgan.config import Settings
from gossipgan.data import Store
from gossipgan.games import build
from gossipgan.training.learner import Learner
from gossipgan.training.streams import Streams

from .conftest import small

CPU = torch.device("cpu")


def _learner(settings: Settings, store: Store, seed: int = 1) -> Learner:
    return Learner(0, settings, seed, torch.from_numpy(np.array(store.images("train"))), CPU)


def _bare_loop(settings: Settings, store: Store, steps: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Alternating Adam as anyone would write it: modules, torch.optim, no flat vectors; on the same draws."""
    streams = Streams(1, 0)
    torch.manual_seed(streams.at("initial weights", 0).initial_seed())
    generator, discriminator = build(settings.game, settings.data)
    players = settings.optimizer.generator, settings.optimizer.discriminator
    g_adam, d_adam = (
        torch.optim.Adam(network.parameters(), lr=player.lr, betas=(player.beta1, player.beta2))
        for network, player in zip((generator, discriminator), players, strict=True)
    )
    pictures = torch.from_numpy(np.array(store.images("train")))
    order = torch.randperm(len(pictures), generator=streams.at("order", 0))
    batch = settings.training.batch
    taken = 0
    for _ in range(steps):
        for _ in range(settings.optimizer.d_steps):
            real = pictures[order[taken : taken + batch]].float() / 127.5 - 1
            taken += batch
            noise = torch.randn(batch, settings.game.latent, generator=streams.next("noise"))
            d_adam.zero_grad()
            fake = generator(noise).detach()
            (F.softplus(-discriminator(real)).mean() + F.softplus(discriminator(fake)).mean()).backward()
            d_adam.step()
        noise = torch.randn(batch, settings.game.latent, generator=streams.next("noise"))
        g_adam.zero_grad()
        F.softplus(-discriminator(generator(noise))).mean().backward()
        g_adam.step()
    return generator.state_dict(), discriminator.state_dict()


@pytest.mark.parametrize("d_steps", [1, 3])
@pytest.mark.parametrize("channels_last", [False, True])
def test_fast_steps_are_those_of_a_bare_loop(store: Store, d_steps: int, channels_last: bool) -> None:
    settings = small(
        optimizer={"d_steps": d_steps, "generator": {"lr": 1e-3}, "discriminator": {"lr": 2e-3}},
        training={"channels_last": channels_last},
    )
    learner = _learner(settings, store)
    for _ in range(5):
        learner.play()
    for mine, bare in zip(
        (learner.generator.state(), learner.discriminator.state()), _bare_loop(settings, store, 5), strict=True
    ):
        assert mine.keys() == bare.keys()
        for name, tensor in bare.items():
            torch.testing.assert_close(mine[name], tensor, rtol=1e-3, atol=2e-5, msg=name)


@pytest.mark.parametrize("loss", ["nonsaturating", "hinge", "wgan-gp"])
@pytest.mark.parametrize("update", ["alternating", "simultaneous"])
def test_every_loss_and_order_moves_both_players_and_stays_finite(store: Store, loss: str, update: str) -> None:
    norm = "none" if loss == "wgan-gp" else "spectral"
    learner = _learner(small(game={"loss": loss, "discriminator_norm": norm}, optimizer={"update": update}), store)
    before = learner.generator.vector.detach().clone(), learner.discriminator.vector.detach().clone()
    statistics = torch.stack([learner.play() for _ in range(3)])
    assert statistics.shape == (3, 4)
    assert torch.isfinite(statistics).all()
    assert not torch.equal(learner.generator.vector, before[0])
    assert not torch.equal(learner.discriminator.vector, before[1])


def test_statistics_are_losses_and_mean_outputs(store: Store) -> None:
    settings = small(game={"loss": "wgan-gp", "discriminator_norm": "none", "gradient_penalty": 0.0})
    loss_d, _, on_real, on_fake = _learner(settings, store).play().tolist()
    assert loss_d == pytest.approx(on_fake - on_real, abs=1e-6)


def test_a_simultaneous_step_moves_both_players_from_one_point(store: Store) -> None:
    # Without spectral norm, whose vectors move with every pass through D.
    settings = small(game={"discriminator_norm": "none"}, optimizer={"update": "simultaneous"})
    learner, twin = _learner(settings, store), _learner(settings, store)
    learner.play()
    batch = twin.draw()
    twin.game.generator_gradient(batch.noise)  # G's gradient against the D it started with
    torch.testing.assert_close(learner.generator.gradient, twin.generator.gradient, rtol=1e-4, atol=1e-6)


def test_seeds_give_other_weights_and_equal_seeds_the_same(store: Store) -> None:
    weights: list[Any] = [_learner(small(), store, seed).generator.vector.detach() for seed in (1, 1, 2)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_iterates_are_copies_and_leave_the_learner_as_it_was(store: Store) -> None:
    learner = _learner(small(lookahead={"kind": "joint", "k": 3}), store)
    for _ in range(2):
        learner.play()
    before = learner.generator.vector.detach().clone()
    start = _learner(small(), store).generator.state()
    slow = learner.iterate("slow")
    for name, _ in learner.generator.network.named_parameters():
        torch.testing.assert_close(slow[name], start[name], rtol=0, atol=0)
    assert torch.equal(learner.generator.vector, before)
    slow["layers.0.weight"].zero_()
    assert torch.equal(learner.iterate("slow")["layers.0.weight"], start["layers.0.weight"])
