"""Averages against their closed forms."""

import pytest
import torch
from torch import nn

from gossipgan.config import AveragingSettings
from gossipgan.optimizers import FlatPlayer, exponential_average, uniform_average


def test_the_average_is_the_weighted_sum_of_the_closed_form() -> None:
    player = FlatPlayer(nn.Linear(1, 1, bias=False))
    decay, values = 0.8, [3.0, 1.0, 4.0, 1.5]
    with torch.no_grad():
        player.vector[0] = 2.0
    average = exponential_average(player, decay, "copy")
    for value in values:
        with torch.no_grad():
            player.vector[0] = value
        average.update()
    expected = decay**4 * 2.0 + sum((1 - decay) * decay ** (3 - i) * value for i, value in enumerate(values))
    assert average.vector[0].item() == pytest.approx(expected, rel=1e-6)


def test_the_uniform_average_is_the_plain_mean_of_what_it_saw() -> None:
    player = FlatPlayer(nn.Linear(1, 1, bias=False))
    average = uniform_average(player, "copy")
    for value in (3.0, 1.0, 4.0, 1.5):
        with torch.no_grad():
            player.vector[0] = value
        average.update()
    assert average.vector[0].item() == pytest.approx((3.0 + 1.0 + 4.0 + 1.5) / 4)


def test_after_a_half_life_the_start_weighs_half() -> None:
    decay = AveragingSettings(ema_half_life=37).decay
    assert decay is not None
    assert decay**37 == pytest.approx(0.5)


@pytest.mark.parametrize("policy", ["copy", "average"])
def test_buffers_follow_their_policy(policy: str) -> None:
    network = nn.BatchNorm1d(2)
    average = exponential_average(FlatPlayer(network), 0.75, policy)  # type: ignore[arg-type]
    network(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))  # running mean: .1 x [2, 4]
    average.update()
    expected = torch.tensor([0.2, 0.4]) * (1.0 if policy == "copy" else 0.25)
    torch.testing.assert_close(average.buffers["running_mean"], expected)
    assert average.buffers["num_batches_tracked"].item() == 1


def test_vectors_of_a_spectral_norm_are_copied_and_never_averaged() -> None:
    network = torch.nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
    average = exponential_average(FlatPlayer(network), 0.5, "average")
    network(torch.ones(1, 4))  # a step of the power iteration
    average.update()
    for name, buffer in network.named_buffers():
        assert torch.equal(average.buffers[name], buffer)
