"""Against dense Hessians and Jacobians of ``torch.autograd.functional``, in float64."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils.parametrizations import spectral_norm

from gossipgan.evaluation.operators import Operator, linearize, training_field
from gossipgan.games import Batch, GanGame

PIXELS, LATENT, PICTURES = 6, 3, 7


def matrix(operator: Operator) -> np.ndarray:
    return np.stack([operator(column) for column in np.eye(operator.dimension)], axis=1)


def small_game(loss: str = "nonsaturating", norm: str = "spectral") -> tuple[GanGame, Batch]:
    """Networks of 61 and 28 or so parameters, with every kind of layer that keeps statistics."""
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(LATENT, 4), nn.BatchNorm1d(4), nn.SiLU(), nn.Linear(4, PIXELS), nn.Tanh())
    first, last = nn.Linear(PIXELS, 3), nn.Linear(3, 1)
    layers: list[nn.Module] = [first, nn.BatchNorm1d(3)] if norm == "batch" else [first]
    if norm == "spectral":
        spectral_norm(first)
        spectral_norm(last)
    discriminator = nn.Sequential(*layers, nn.Softplus(), last, nn.Flatten(0))
    game = GanGame(generator.double(), discriminator.double(), loss)
    batch = Batch(
        torch.rand(PICTURES, PIXELS, dtype=torch.float64) * 2 - 1,
        torch.randn(PICTURES, LATENT, dtype=torch.float64),
        torch.rand(PICTURES, 1, dtype=torch.float64),
    )
    return game, batch


def field_of_training(game: GanGame, batch: Batch, networks: tuple[nn.Module, nn.Module]) -> Tensor:
    """Both players' gradients, as training itself takes them, as one vector."""
    for network in networks:
        network.zero_grad()
    game.joint_gradient(batch)
    return torch.cat([p.grad.reshape(-1) for network in networks for p in network.parameters() if p.grad is not None])


GAMES = [("nonsaturating", "spectral"), ("nonsaturating", "batch"), ("hinge", "none"), ("wgan-gp", "none")]


@pytest.mark.parametrize(("loss", "norm"), GAMES)
def test_products_are_those_of_the_dense_jacobian_of_the_field(loss: str, norm: str) -> None:
    game, batch = small_game(loss, norm)
    networks = game.generator, game.discriminator
    shapes = [[(name, p.shape) for name, p in network.named_parameters()] for network in networks]

    def vectors(given: tuple[Tensor, ...]) -> list[dict[str, Tensor]]:
        parts = iter(given)
        return [{name: next(parts).view(shape) for name, shape in player} for player in shapes]

    def losses(*given: Tensor) -> tuple[Tensor, Tensor]:
        generator, discriminator = vectors(given)

        def judged(pictures: Tensor) -> Tensor:
            return functional_call(game.discriminator, discriminator, pictures)

        fake = functional_call(game.generator, generator, batch.noise)
        on_fake = judged(fake)
        loss_d = game.losses.discriminator(judged(batch.real), on_fake)
        if loss == "wgan-gp":
            between = batch.mix * batch.real + (1 - batch.mix) * fake
            (slope,) = torch.autograd.grad(judged(between).sum(), between, create_graph=True)
            loss_d = loss_d + 10 * ((slope.square().sum(dim=1).sqrt() - 1) ** 2).mean()
        return game.losses.generator(on_fake), loss_d

    def field(*given: Tensor) -> Tensor:
        count = len(shapes[0])
        loss_g, loss_d = losses(*given)
        gradients = [
            *torch.autograd.grad(loss_g, given[:count], create_graph=True, materialize_grads=True),
            *torch.autograd.grad(loss_d, given[count:], create_graph=True, materialize_grads=True),
        ]
        return torch.cat([part.reshape(-1) for part in gradients])

    inputs = tuple(p.detach().clone().requires_grad_() for network in networks for p in network.parameters())
    with training_field(*networks):
        blocks = torch.autograd.functional.jacobian(field, inputs)
        players = list(game.generator.parameters()), list(game.discriminator.parameters())
        point = linearize(game.player_losses(batch), players)
    dense = torch.cat([block.flatten(1) for block in blocks], dim=1).numpy()
    first = point.hessians[0].dimension

    np.testing.assert_allclose(matrix(point.jacobian).T, dense, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(matrix(point.hessians[0]), dense[:first, :first], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(matrix(point.hessians[1]), dense[first:, first:], rtol=1e-8, atol=1e-10)
    assert np.abs(dense[:first, first:]).max() > 1e-6  # the players do meet
    for hessian in point.hessians:
        np.testing.assert_allclose(matrix(hessian), matrix(hessian).T, atol=1e-10)


@pytest.mark.parametrize(("loss", "norm"), GAMES)
def test_the_field_is_the_one_that_training_descends(loss: str, norm: str) -> None:
    game, batch = small_game(loss, norm)
    networks = game.generator, game.discriminator
    players = list(game.generator.parameters()), list(game.discriminator.parameters())
    with training_field(*networks):
        point = linearize(game.player_losses(batch), players)
        trained = field_of_training(game, batch, networks)
        difference = torch.randn(len(trained), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        halves = []
        for sign in (1, -1):
            for parameters, step in zip(
                (*players[0], *players[1]),
                (sign * 1e-6 * difference).split([p.numel() for player in players for p in player]),
                strict=True,
            ):
                parameters.data += step.view(parameters.shape)
            halves.append(field_of_training(game, batch, networks))
            for parameters, step in zip(
                (*players[0], *players[1]),
                (sign * 1e-6 * difference).split([p.numel() for player in players for p in player]),
                strict=True,
            ):
                parameters.data -= step.view(parameters.shape)

    first = point.hessians[0].dimension
    assert trained[:first].norm().item() == pytest.approx(point.gradient_norms[0], rel=1e-12)
    assert trained[first:].norm().item() == pytest.approx(point.gradient_norms[1], rel=1e-12)
    by_differences = ((halves[0] - halves[1]) / 2e-6).numpy()
    by_products = matrix(point.jacobian).T @ difference.numpy()
    np.testing.assert_allclose(by_products, by_differences, rtol=1e-5, atol=1e-6 * np.abs(by_differences).max())


@pytest.mark.parametrize("norm", ["spectral", "batch"])
def test_nothing_in_the_networks_moves(norm: str) -> None:
    game, batch = small_game(norm=norm)
    game.generator.train()
    game.discriminator.eval()
    states = [network.state_dict() for network in (game.generator, game.discriminator)]
    before = [{name: tensor.clone() for name, tensor in state.items()} for state in states]

    with training_field(game.generator, game.discriminator):
        players = list(game.generator.parameters()), list(game.discriminator.parameters())
        matrix(linearize(game.player_losses(batch), players).jacobian)

    for state, kept in zip(states, before, strict=True):
        assert all(torch.equal(state[name], kept[name]) for name in kept)
    assert all(part.training for part in game.generator.modules())
    assert not any(part.training for part in game.discriminator.modules())
    assert game.generator[1].track_running_stats
    assert all(p.grad is None for network in (game.generator, game.discriminator) for p in network.parameters())


def test_batch_norms_use_the_statistics_of_the_batch_and_not_the_running_ones() -> None:
    game, batch = small_game(norm="batch")
    in_training = game.generator.train()(batch.noise)

    with training_field(game.generator):
        in_field = game.generator(batch.noise)

    assert torch.equal(in_field, in_training)
    assert not torch.allclose(game.generator.eval()(batch.noise), in_training)


def test_the_bilinear_game_turns_without_pulling() -> None:
    x, y = torch.tensor([0.3], requires_grad=True), torch.tensor([-2.0], requires_grad=True)

    point = linearize(((x * y).sum(), -(x * y).sum()), ([x], [y]))

    np.testing.assert_array_equal(matrix(point.jacobian).T, [[0.0, 1.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(matrix(point.hessians[0]), [[0.0]])
    assert point.losses == pytest.approx((-0.6, 0.6))
    assert point.gradient_norms == pytest.approx((2.0, 0.3))


def test_a_parameter_that_the_loss_is_linear_in_has_rows_and_columns_of_zeros() -> None:
    bias, weight, other = (torch.tensor(start, requires_grad=True) for start in ([1.0, 1.0], [3.0], [2.0]))

    point = linearize((bias.sum() + weight.pow(3).sum() + 5 * other.sum(), bias.sum()), ([bias, weight], [other]))

    np.testing.assert_array_equal(matrix(point.hessians[0]), np.diag([0.0, 0.0, 18.0]))
    np.testing.assert_array_equal(matrix(point.hessians[1]), [[0.0]])
    np.testing.assert_array_equal(matrix(point.jacobian), np.diag([0.0, 0.0, 18.0, 0.0]))
