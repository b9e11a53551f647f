"""Lookahead: the sync sequence, its closed-form contraction, and a resume in mid-cycle."""

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
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


def _play_xy(
    steps: int, after_x: Callable[[], None], after_y: Callable[[], None], x: _Point, y: _Point, eta: float
) -> None:
    """Alternating gradient descent ascent on x*y."""
    for _ in range(steps):
        x.value.data -= eta * y.value.data
        after_x()
        y.value.data += eta * x.value.data
        after_y()


def test_nested_lookahead_rescues_a_diverging_inner_one() -> None:
    # GDA, eta = .3, k = 6, alpha = .8 (1.0198 a cycle), inside K = 18, A = .5: published factor .7108.
    eta, x, y = 0.3, _Point(0.6), _Point(-0.8)
    lookahead = JointLookahead([x, y], k=6, alpha=0.8, super_k=18, super_alpha=0.5)
    levels = []
    for _ in range(18):
        at_x, at_y = x.value.item(), y.value.item()
        x.value.data -= eta * at_y
        y.value.data += eta * at_x
        lookahead.fast_step()
        levels.append(lookahead.slow_step())
    inner = 0.2 + 0.8 * (1 + 1j * eta) ** 6
    measured = (x.value.item() ** 2 + y.value.item() ** 2) ** 0.5
    assert measured == pytest.approx(abs(0.5 + 0.5 * inner**3), rel=1e-12)
    assert measured == pytest.approx(0.7108, abs=5e-5)
    assert [step + 1 for step, level in enumerate(levels) if level] == [6, 12, 18]
    assert levels[17] == 2
    assert x.value.item() == lookahead.slow(0)["value"].item()


def test_joint_lookahead_over_alternating_steps_contracts_as_published() -> None:
    def cycle(start: tuple[float, float]) -> tuple[float, float]:
        x, y = _Point(start[0]), _Point(start[1])
        lookahead = JointLookahead([x, y], k=6, alpha=0.5)

        def after_both() -> None:
            lookahead.fast_step()
            lookahead.slow_step()

        _play_xy(6, lambda: None, after_both, x, y, eta=0.3)
        return x.value.item(), y.value.item()

    images = np.array([cycle((1.0, 0.0)), cycle((0.0, 1.0))])
    assert np.abs(np.linalg.eigvals(images)).max() == pytest.approx(0.6189, abs=5e-5)


def test_alternating_lookahead_is_another_method() -> None:
    # D (here y) meets an x that has already backtracked: the recursion by hand, in four numbers.
    eta, k, alpha = 0.3, 2, 0.5
    x, y = _Point(0.6), _Point(-0.8)
    mine = JointLookahead([x], k=k, alpha=alpha), JointLookahead([y], k=k, alpha=alpha)

    def after(lookahead: JointLookahead) -> Callable[[], None]:
        def step() -> None:
            lookahead.fast_step()
            lookahead.slow_step()

        return step

    _play_xy(6, after(mine[0]), after(mine[1]), x, y, eta)

    fast_x, fast_y, slow_x, slow_y = 0.6, -0.8, 0.6, -0.8
    for step in range(1, 7):
        fast_x -= eta * fast_y
        if step % k == 0:
            slow_x += alpha * (fast_x - slow_x)
            fast_x = slow_x
        fast_y += eta * fast_x
        if step % k == 0:
            slow_y += alpha * (fast_y - slow_y)
            fast_y = slow_y
    assert (x.value.item(), y.value.item()) == pytest.approx((fast_x, fast_y), rel=1e-12)


def test_cycles_may_have_lengths_of_their_own() -> None:
    lengths = [2, 1, 3, 2, 9]
    point = _Point(0.0)
    lookahead = JointLookahead([point], k=lambda cycle: lengths[cycle], alpha=0.5)
    synced = []
    for step in range(1, 9):
        point.value.data += 1
        lookahead.fast_step()
        if lookahead.slow_step():
            synced.append(step)
    assert synced == [2, 3, 6, 8]


def _momentum_steps(moments: Any, count: int) -> tuple[list[float], list[float]]:
    """A point under momentum .5 and gradient 1, at rate 1, with Lookahead of k = 2; its values and velocities."""
    point = _Point(0.0)
    optimizer = torch.optim.SGD([point.value], lr=1.0, momentum=0.5)
    lookahead = JointLookahead([point], k=2, alpha=0.5, optimizers=[optimizer], moments=moments)
    values, velocities = [], []
    for _ in range(count):
        point.value.grad = torch.ones_like(point.value)
        optimizer.step()
        lookahead.fast_step()
        lookahead.slow_step()
        values.append(point.value.item())
        state = optimizer.state[point.value]
        velocities.append(state["momentum_buffer"].item() if state else 0.0)
    return values, velocities


@pytest.mark.parametrize("moments", ["keep", "reset", "pullback"])
def test_moments_follow_their_policy(moments: str) -> None:
    value, velocity, slow_value, slow_velocity = 0.0, 0.0, 0.0, 0.0
    values, velocities = [], []
    for step in range(1, 9):
        velocity = 0.5 * velocity + 1
        value -= velocity
        if step % 2 == 0:
            slow_value += 0.5 * (value - slow_value)
            value = slow_value
            slow_velocity += 0.5 * (velocity - slow_velocity)
            velocity = {"keep": velocity, "reset": 0.0, "pullback": slow_velocity}[moments]
        values.append(value)
        velocities.append(velocity)
    assert _momentum_steps(moments, 8) == (values, velocities)


def test_moments_of_adam_are_pulled_back_and_its_count_of_steps_is_kept() -> None:
    point = _Point(1.0)
    optimizer = torch.optim.Adam([point.value], lr=0.1, betas=(0.5, 0.5))
    lookahead = JointLookahead([point], k=2, alpha=0.25, optimizers=[optimizer], moments="pullback")
    for _ in range(2):
        point.value.grad = torch.full_like(point.value, 2.0)
        optimizer.step()
        lookahead.fast_step()
    before = {name: moment.clone() for name, moment in optimizer.state[point.value].items()}
    lookahead.slow_step()
    after = optimizer.state[point.value]
    for name in ("exp_avg", "exp_avg_sq"):  # anchored at zero, as they were before the first step
        torch.testing.assert_close(after[name], 0.25 * before[name])
    assert after["step"] == before["step"] == 2


@pytest.mark.parametrize("buffers", ["keep", "average"])
@pytest.mark.parametrize("flat", [False, True])
def test_batch_norm_statistics_follow_their_policy_and_no_other_buffer_moves(buffers: Any, flat: bool) -> None:
    network = nn.Sequential(torch.nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2)), nn.BatchNorm1d(2))
    player = FlatPlayer(network) if flat else network
    lookahead = JointLookahead([player], k=1, alpha=0.25, buffers=buffers)
    start = {name: buffer.clone() for name, buffer in network.named_buffers()}
    network(torch.randn(8, 2, generator=torch.Generator().manual_seed(1)))
    before = {name: buffer.clone() for name, buffer in network.named_buffers()}
    lookahead.fast_step()
    lookahead.slow_step()
    for name, buffer in network.named_buffers():
        pulled = buffers == "average" and name in ("1.running_mean", "1.running_var")
        expected = torch.lerp(start[name], before[name], 0.25) if pulled else before[name]
        torch.testing.assert_close(buffer, expected, rtol=0, atol=0)


def test_a_flat_player_and_its_network_backtrack_alike() -> None:
    def run(flat: bool) -> np.ndarray[Any, Any]:
        torch.manual_seed(3)
        network = nn.Linear(5, 4)
        player = FlatPlayer(network) if flat else network
        lookahead = JointLookahead([player], k=3, alpha=0.4, super_k=6, super_alpha=0.7)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(8):
            network.weight.grad, network.bias.grad = torch.ones(4, 5), torch.ones(4)
            optimizer.step()
            lookahead.fast_step()
            lookahead.slow_step()
        weights: np.ndarray[Any, Any] = network.weight.detach().numpy().copy()
        return weights

    np.testing.assert_array_equal(run(True), run(False))


def test_both_players_backtrack_at_the_same_moment_and_only_then() -> None:
    x, y = _Point(0.0), _Point(10.0)
    lookahead = JointLookahead([x, y], k=2, alpha=0.25)
    moved = []
    for _ in range(4):
        x.value.data += 1
        y.value.data -= 1
        lookahead.fast_step()
        moved.append(lookahead.slow_step())
    assert moved == [0, 1, 0, 1]
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
            point.value.data.mul_(0.9).add_(0.7)
            lookahead.fast_step()
            lookahead.slow_step()

    whole = _Point(1.0, 2.0)
    steps(whole, JointLookahead([whole], k=4, alpha=0.3), 11)
    without = _Point(1.0, 2.0)
    steps(without, JointLookahead([without], k=100, alpha=0.3), 11)
    assert not torch.equal(whole.value, without.value)

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


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"super_k": 7}, "multiple of a fixed k"),
        ({"super_k": 10, "super_alpha": 0.0}, "super_alpha: more than 0"),
        ({"moments": "reset"}, "optimizers must be given"),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        JointLookahead([_Point(0.0)], k=5, alpha=0.5, **more)
