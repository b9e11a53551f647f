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
    return Learner(0, settings, seed, torch.from_numpy(np.array(store.images("train"))), None, CPU)


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


def test_all_learners_backtrack_at_the_same_random_moments(store: Store) -> None:
    settings = small(lookahead={"kind": "joint", "k": 2, "k_max": 6})
    pictures = torch.from_numpy(np.array(store.images("train")))

    def moments(learner: Learner) -> list[int]:
        lookahead = learner.lookaheads["players"]
        taken = []
        for step in range(1, 41):
            lookahead.fast_step()
            if lookahead.slow_step():
                taken.append(step)
        return taken

    first, second = (moments(Learner(number, settings, 1, pictures, None, CPU)) for number in (0, 1))
    lengths = [after - before for before, after in zip([0, *first], first, strict=False)]
    assert first == second
    assert set(lengths) <= set(range(2, 7))
    assert len(set(lengths)) > 1
    assert first != moments(Learner(0, settings, 2, pictures, None, CPU))


def test_ema_slow_moves_at_slow_steps_alone(store: Store) -> None:
    learner = _learner(small(lookahead={"kind": "joint", "k": 3}, averaging={"ema_slow_decay": 0.25}), store)
    average = learner.averages["ema-slow"]
    before = average.vector.clone()
    moved = []
    for _ in range(6):
        learner.play()
        learner.average(learner.backtrack())
        moved.append(not torch.equal(average.vector, before))
        if moved[-1]:
            expected = torch.lerp(before, learner.lookaheads["players"].slow(0)["vector"], 0.75)
            torch.testing.assert_close(average.vector, expected)
        before = average.vector.clone()
    assert moved == [False, False, True, False, False, True]


def test_the_uniform_average_begins_where_it_is_told_to(store: Store) -> None:
    learner = _learner(small(averaging={"uniform_from": 2}), store)
    seen = []
    for _ in range(5):
        learner.play()
        learner.average(learner.backtrack())
        seen.append(learner.generator.vector.detach().clone())
    torch.testing.assert_close(learner.averages["uniform"].vector, torch.stack(seen[2:]).mean(dim=0))


def test_in_alternating_lookahead_g_meets_a_d_that_has_backtracked(store: Store) -> None:
    joint = _learner(small(lookahead={"kind": "joint", "k": 1, "alpha": 0.5}), store)
    alternating = _learner(small(lookahead={"kind": "alternating", "k": 1, "alpha": 0.5}), store)
    start = joint.discriminator.vector.detach().clone()
    joint.play()
    alternating.play()
    torch.testing.assert_close(
        alternating.discriminator.vector.detach(), torch.lerp(start, joint.discriminator.vector.detach(), 0.5)
    )
    assert not torch.equal(alternating.generator.gradient, joint.generator.gradient)


def test_extragradient_evaluates_at_the_extrapolated_pair_and_steps_from_the_start(store: Store) -> None:
    # Without spectral norm, whose vectors move with every pass: by hand from two joint gradients of a twin.
    player = {"lr": 1e-3, "momentum": 0.0}
    settings = small(
        game={"discriminator_norm": "none"},
        optimizer={"name": "extragradient", "update": "simultaneous", "generator": player, "discriminator": player},
    )
    learner, twin = _learner(settings, store), _learner(settings, store)
    learner.play()
    starts = [one.vector.detach().clone() for one in twin.players]
    twin.game.joint_gradient(twin.draw())
    for one in twin.players:
        one.vector.data.add_(one.gradient, alpha=-1e-3)
        one.zero_grad()
    twin.game.joint_gradient(twin.draw())
    for mine, start, other in zip(learner.players, starts, twin.players, strict=True):
        torch.testing.assert_close(mine.vector.detach(), start - 1e-3 * other.gradient, rtol=1e-5, atol=1e-7)


CONDITIONAL: dict[str, Any] = {
    "data": {"limit": 400, "held_out": 200, "size": 32, "resize": True},
    "game": {"network": "resnet32", "width": 4, "latent": 8, "classes": 10},
}


def test_a_conditional_game_is_told_the_classes_of_its_pictures(store: Store) -> None:
    labels = torch.from_numpy(np.array(store.labels("train")))
    pictures = torch.nn.functional.pad(torch.from_numpy(np.array(store.images("train"))), (2, 2, 2, 2))
    learner = Learner(0, small(**CONDITIONAL), 1, pictures, labels, CPU)
    order = torch.randperm(len(pictures), generator=Streams(1, 0).at("order", 0))
    batch = learner.draw()
    assert batch.labels is not None
    assert batch.fake_labels is not None
    assert torch.equal(batch.labels, labels[order[:8]])
    assert 0 <= int(batch.fake_labels.min()) <= int(batch.fake_labels.max()) < 10
    before = learner.discriminator.vector.detach().clone()
    assert torch.isfinite(learner.play()).all()
    assert not torch.equal(learner.discriminator.vector, before)
