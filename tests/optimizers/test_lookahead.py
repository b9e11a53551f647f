"""Lookahead: the sync sequence, its closed-form contraction, and a resume in mid-cycle."""

import cmath

import pytest
import torch
from torch import nn

from gossipgan.optimizers import FlatPlayer, JointLookahead


class _Point(nn.Module):
    def __init__(self, *values: float) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(values, dtype=torch.float64))


def test_the_first_sync_is_real() -> None:
    # Parameter 0, each fast step adds 1, k = 3, alpha = .5, anchored at the start.
    point = _Point(0.0)
    lookahead = JointLookahead([point], k=3, alpha=0.5)
    seen = []
    for _ in range(6):
        point.value.data += 1
        lookahead.fast_step()
        lookahead.slow_step()
        seen.append(point.value.item())
    assert seen == [1, 2, 1.5, 2.5, 3.5, 3]


@pytest.mark.parametrize(
    ("alpha", "gda", "extragradient"),
    [(1.0, 1.2950, 0.7739), (0.8, 1.0198, 0.5837), (0.5, 0.7448, 0.5203), (0.4, 0.7199, 0.5762), (0.3, 0.7380, 0.6600)],
)
@pytest.mark.parametrize("extrapolate", [False, True])
def test_a_cycle_on_the_game_xy_contracts_as_the_closed_form_says(
    alpha: float, gda: float, extragradient: float, extrapolate: bool
) -> None:
    eta, k = 0.3, 6
    x, y = _Point(0.6), _Point(-0.8)
    lookahead = JointLookahead([x, y], k=k, alpha=alpha)
    start = cmath.sqrt(x.value.item() ** 2 + y.value.item() ** 2).real
    for _ in range(k):
        at_x, at_y = x.value.item(), y.value.item()
        if extrapolate:
            at_x, at_y = at_x - eta * at_y, at_y + eta * at_x
        x.value.data -= eta * at_y
        y.value.data += eta * at_x
        lookahead.fast_step()
        lookahead.slow_step()
    measured = (x.value.item() ** 2 + y.value.item() ** 2) ** 0.5 / start
    eigenvalue = 1 + 1j * eta - (eta**2 if extrapolate else 0)
    assert measured == pytest.approx(abs((1 - alpha) + alpha * eigenvalue**k), rel=1e-12)
    assert measured == pytest.approx(extragradient if extrapolate else gda, abs=5e-5)


def test_both_players_backtrack_at_the_same_moment_and_only_then() -> None:
    x, y = _Point(0.0), _Point(10.0)
    lookahead = JointLookahead([x, y], k=2, alpha=0.25)
    moved = []
    for _ in range(4):
        x.value.data += 1
        y.value.data -= 1
        lookahead.fast_step()
        moved.append(lookahead.slow_step())
    assert moved == [False, True, False, True]
    assert (x.value.item(), y.value.item()) == (1.0, 9.0)  # each cycle goes a quarter of its two steps


def test_slow_step_before_any_fast_step_does_nothing() -> None:
    point = _Point(1.0)
    lookahead = JointLookahead([point], k=1, alpha=0.5)
    point.value.data += 1
    assert not lookahead.slow_step()
    assert point.value.item() == 2.0


@pytest.mark.parametrize("flat", [False, True])
def test_alpha_1_is_the_base_method_to_the_last_bit(flat: bool) -> None:
    def run(with_lookahead: bool) -> torch.Tensor:
        torch.manual_seed(1)
        network = nn.Linear(6, 3)
        player = FlatPlayer(network) if flat else network
        optimizer = torch.optim.Adam([player.vector] if isinstance(player, FlatPlayer) else network.parameters())
        lookahead = JointLookahead([player], k=3, alpha=1.0)
        for _ in range(10):
            player.zero_grad()
            network(torch.randn(2, 6)).square().sum().backward()
            optimizer.step()
            if with_lookahead:
                lookahead.fast_step()
                lookahead.slow_step()
        return network.weight.detach().clone()

    assert torch.equal(run(True), run(False))


def test_resume_in_mid_cycle_is_exact() -> None:
    def steps(point: _Point, lookahead: JointLookahead, count: int) -> None:
        for _ in range(count):
            point.value.data = point.value.data * 0.9 + 0.7
            lookahead.fast_step()
            lookahead.slow_step()

    whole = _Point(1.0, 2.0)
    steps(whole, JointLookahead([whole], k=4, alpha=0.3), 11)

    first = _Point(1.0, 2.0)
    lookahead = JointLookahead([first], k=4, alpha=0.3)
    steps(first, lookahead, 6)
    saved = lookahead.state_dict()
    second = _Point(*first.value.tolist())
    resumed = JointLookahead([second], k=4, alpha=0.3)
    resumed.load_state_dict(saved)
    steps(second, resumed, 5)
    assert torch.equal(second.value, whole.value)


def test_a_state_of_other_players_is_refused() -> None:
    saved = JointLookahead([nn.Linear(2, 2)], k=1, alpha=0.5).state_dict()
    with pytest.raises(ValueError, match="other players"):
        JointLookahead([_Point(0.0)], k=1, alpha=0.5).load_state_dict(saved)


@pytest.mark.parametrize(("k", "alpha"), [(0, 0.5), (5, 0.0), (5, 1.5)])
def test_k_and_alpha_out_of_range_are_refused(k: int, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"at least 1|more than 0"):
        JointLookahead([_Point(0.0)], k=k, alpha=alpha)
