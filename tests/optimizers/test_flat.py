"""Flat players: the network and the vector are one."""

import pytest
import torch
from torch import nn

from gossipgan.config import DataSettings, GameSettings
from gossipgan.games import build
from gossipgan.optimizers import FlatPlayer


def _discriminator() -> nn.Module:
    torch.manual_seed(0)
    return build(GameSettings(width=4, latent=5), DataSettings())[1]


@pytest.mark.parametrize("channels_last", [False, True])
def test_flattening_changes_no_output_and_no_gradient(channels_last: bool) -> None:
    plain, flat = _discriminator(), _discriminator()
    player = FlatPlayer(flat, channels_last=channels_last)
    pictures = torch.randn(3, 1, 28, 28)
    plain(pictures).sum().backward()
    flat(pictures).sum().backward()
    torch.testing.assert_close(flat(pictures), plain(pictures))
    for mine, theirs in zip(flat.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)
    assert player.gradient.norm().item() == pytest.approx(
        torch.cat([p.grad.flatten() for p in plain.parameters() if p.grad is not None]).norm().item(), rel=1e-5
    )


def test_writing_to_the_vector_writes_to_the_network_and_the_other_way_round() -> None:
    network = _discriminator()
    player = FlatPlayer(network)
    with torch.no_grad():
        player.vector.fill_(0.25)
        assert all(bool((p == 0.25).all()) for p in network.parameters())
        next(network.parameters()).zero_()
    assert int((player.vector == 0).sum()) == next(network.parameters()).numel()


def test_every_parameter_starts_on_a_64_byte_boundary_of_the_vector() -> None:
    network = _discriminator()
    player = FlatPlayer(network)
    start = player.vector.data_ptr()
    assert all((p.data_ptr() - start) % 64 == 0 for p in network.parameters())


def test_padding_stays_zero_under_adam_with_weight_decay() -> None:
    network = nn.Linear(3, 3)  # 9 weights and 3 biases: 7 + 13 floats of padding
    player = FlatPlayer(network)
    optimizer = torch.optim.Adam([player.vector], lr=0.1, weight_decay=0.1, fused=True)
    for _ in range(5):
        player.zero_grad()
        network(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()
    assert torch.count_nonzero(player.vector[9:16]) == 0
    assert torch.count_nonzero(player.vector[19:]) == 0


def test_adam_on_the_vector_is_adam_on_the_parameters() -> None:
    plain, flat = nn.Linear(5, 7), nn.Linear(5, 7)
    flat.load_state_dict(plain.state_dict())
    player = FlatPlayer(flat)
    one = torch.optim.Adam(plain.parameters(), lr=0.01, betas=(0.5, 0.9))
    other = torch.optim.Adam([player.vector], lr=0.01, betas=(0.5, 0.9), fused=True)
    for _ in range(20):
        inputs = torch.randn(4, 5)
        for network, optimizer in ((plain, one), (flat, other)):
            optimizer.zero_grad() if network is plain else player.zero_grad()
            network(inputs).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(flat.weight, plain.weight)
    torch.testing.assert_close(flat.bias, plain.bias)
