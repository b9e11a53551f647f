"""Losses against torch's own and against hand calculation."""

import pytest
import torch
import torch.nn.functional as F

from gossipgan.games.losses import LOSSES, gradient_penalty


def test_nonsaturating_is_binary_cross_entropy_on_logits() -> None:
    real, fake = torch.randn(9), torch.randn(9)
    ones, zeros = torch.ones(9), torch.zeros(9)
    expected = F.binary_cross_entropy_with_logits(real, ones) + F.binary_cross_entropy_with_logits(fake, zeros)
    torch.testing.assert_close(LOSSES["nonsaturating"].discriminator(real, fake), expected)
    torch.testing.assert_close(LOSSES["nonsaturating"].generator(fake), F.binary_cross_entropy_with_logits(fake, ones))


def test_hinge_is_zero_beyond_the_margins_and_linear_within() -> None:
    real, fake = torch.tensor([2.0, 0.5]), torch.tensor([-3.0, 0.25])
    assert LOSSES["hinge"].discriminator(real, fake).item() == pytest.approx((0 + 0.5) / 2 + (0 + 1.25) / 2)
    assert LOSSES["hinge"].generator(fake).item() == pytest.approx(1.375)


def test_gradient_penalty_of_a_linear_discriminator_is_its_norms_squared_distance_from_one() -> None:
    weight = torch.randn(12)

    class Linear(torch.nn.Module):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return pictures.flatten(1) @ weight

    real, fake = torch.randn(5, 3, 2, 2), torch.randn(5, 3, 2, 2)
    penalty = gradient_penalty(Linear(), real, fake, torch.rand(5, 1, 1, 1))
    torch.testing.assert_close(penalty, (weight.norm() - 1) ** 2)


def test_gradient_penalty_is_taken_at_the_given_mix() -> None:
    class Square(torch.nn.Module):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return pictures.square().flatten(1).sum(1) / 2  # gradient: the picture itself

    real, fake, mix = torch.full((1, 1, 1, 1), 5.0), torch.full((1, 1, 1, 1), 1.0), torch.full((1, 1, 1, 1), 0.25)
    # At .25 x 5 + .75 x 1 = 2 the gradient's norm is 2.
    assert gradient_penalty(Square(), real, fake, mix).item() == pytest.approx(1.0)


def test_gradient_penalty_is_taken_by_the_given_classes() -> None:
    slopes = torch.tensor([1.0, 3.0])

    class ByClass(torch.nn.Module):
        def forward(self, pictures: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            return slopes[labels] * pictures.flatten(1).sum(1)

    real, fake, mix = torch.randn(3, 1, 1, 1), torch.randn(3, 1, 1, 1), torch.rand(3, 1, 1, 1)
    # Distances of the slopes from 1: 2, 0 and 2.
    penalty = gradient_penalty(ByClass(), real, fake, mix, torch.tensor([1, 0, 1]))
    assert penalty.item() == pytest.approx((4 + 0 + 4) / 3)
