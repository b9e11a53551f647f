"""Each optimizer over a flat player against a transcription of its published formula in NumPy."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from gossipgan.config import OptimizerSettings
from gossipgan.optimizers import FlatPlayer, PlayerOptimizer

Array = NDArray[np.float64]
Steps = Iterator[Array]

LR, BETA1, BETA2, EPS = 0.05, 0.6, 0.9, 1e-6
START = np.array([0.5, -1.0, 2.0, 0.1])


def _gradient(w: Array, number: int) -> Array:
    """Of an uneven bowl, with a disturbance that depends on the evaluation's number."""
    return np.array([3.0, 0.5, -1.0, 8.0]) * w + np.sin(number + np.arange(4))


def _sgd(momentum: float) -> Steps:
    w, velocity = START, np.zeros(4)
    for k in range(1000):
        velocity = momentum * velocity + _gradient(w, k)
        w = w - LR * velocity
        yield w


def _adam_updates(beta1: float) -> Callable[[Array], Array]:
    m, v, t = np.zeros(4), np.zeros(4), 0

    def update(g: Array) -> Array:
        nonlocal m, v, t
        t += 1
        m, v = beta1 * m + (1 - beta1) * g, BETA2 * v + (1 - BETA2) * g * g
        return m / (1 - beta1**t) / (np.sqrt(v / (1 - BETA2**t)) + EPS)

    return update


def _adam(beta1: float) -> Steps:
    w, update = START, _adam_updates(beta1)
    for k in range(1000):
        w = w - LR * update(_gradient(w, k))
        yield w


def _radam() -> Steps:
    # Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond" (ICLR 2020), algorithm 2.
    w, m, v = START, np.zeros(4), np.zeros(4)
    longest = 2 / (1 - BETA2) - 1
    for k in range(1000):
        t, g = k + 1, _gradient(w, k)
        m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
        length = longest - 2 * t * BETA2**t / (1 - BETA2**t)
        step = m / (1 - BETA1**t)
        if length > 5:
            rectified = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
            step = step * rectified * math.sqrt(1 - BETA2**t) / (np.sqrt(v) + EPS)
        w = w - LR * step
        yield w


def _oadam() -> Steps:
    w, update, before = START, _adam_updates(BETA1), np.zeros(4)
    for k in range(1000):
        now = update(_gradient(w, k))
        w = w - 2 * LR * now + LR * before
        before = now
        yield w


def _omd() -> Steps:
    w, before = START, np.zeros(4)
    for k in range(1000):
        now = _gradient(w, k)
        w = w - 2 * LR * now + LR * before
        before = now
        yield w


def _extragradient(first: Callable[[Array], Array], second: Callable[[Array], Array]) -> Steps:
    w = START
    for k in range(1000):
        z = w - LR * first(_gradient(w, 2 * k))
        w = w - LR * second(_gradient(z, 2 * k + 1))
        yield w


def _dposg() -> Steps:
    x, last = START, np.zeros(4)
    for k in range(1000):
        z = x - LR * last
        last = _gradient(z, k)
        x = x - LR * last
        yield x


def _shared_adam() -> Steps:
    update = _adam_updates(BETA1)
    return _extragradient(update, update)


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], Steps]] = {
    "sgd": ({"name": "sgd"}, {}, _sgd(0.0)),
    "momentum": ({"name": "sgd"}, {"momentum": 0.7}, _sgd(0.7)),
    "negative momentum": ({"name": "sgd"}, {"momentum": -0.4}, _sgd(-0.4)),
    "adam": ({"name": "adam"}, {}, _adam(BETA1)),
    "adam with negative beta1": ({"name": "adam"}, {"beta1": -0.5}, _adam(-0.5)),
    "radam": ({"name": "radam"}, {}, _radam()),
    "oadam": ({"name": "oadam"}, {}, _oadam()),
    "omd": ({"name": "omd"}, {}, _omd()),
    "extragradient": ({"name": "extragradient"}, {}, _extragradient(lambda g: g, lambda g: g)),
    "extra-adam, shared moments": ({"name": "extra-adam"}, {}, _shared_adam()),
    "extra-adam, own moments": (
        {"name": "extra-adam", "extrapolation": "own"},
        {},
        _extragradient(_adam_updates(BETA1), _adam_updates(BETA1)),
    ),
    "dposg": ({"name": "dposg"}, {}, _dposg()),
}


def _player(values: Array = START) -> FlatPlayer:
    network = nn.Linear(len(values), 1, bias=False)
    network.weight.data.copy_(torch.tensor(values, dtype=torch.float32))
    return FlatPlayer(network)


def _optimizer(player: FlatPlayer, settings: dict[str, Any], mine: dict[str, Any], steps: int = 100) -> PlayerOptimizer:
    given = {"lr": LR, "beta1": BETA1, "beta2": BETA2, "eps": EPS, **mine}
    extrapolating = settings["name"] in ("extragradient", "extra-adam", "dposg")
    checked = OptimizerSettings.model_validate(
        {
            "update": "simultaneous" if extrapolating else "alternating",
            **settings,
            "generator": given,
            "discriminator": given,
        }
    )
    return PlayerOptimizer(player, checked, checked.generator, steps)


def _weights(player: FlatPlayer) -> Array:
    return player.vector.detach().numpy()[: len(START)].astype(np.float64)


def _evaluate(player: FlatPlayer, number: int) -> None:
    player.gradient[: len(START)] = torch.tensor(_gradient(_weights(player), number))


@pytest.mark.parametrize("case", list(CASES))
def test_steps_are_those_of_the_formula(case: str) -> None:
    settings, mine, expected = CASES[case]
    player = _player()
    optimizer = _optimizer(player, settings, mine)
    evaluations = 0
    for iteration in range(30):
        optimizer.begin(iteration)
        if optimizer.evaluates_first:
            _evaluate(player, evaluations)
            evaluations += 1
        if optimizer.extrapolates:
            optimizer.extrapolate()
        _evaluate(player, evaluations)
        evaluations += 1
        optimizer.step()
        np.testing.assert_allclose(_weights(player), next(expected), rtol=2e-5, atol=2e-6)
    assert not player.vector.detach()[len(START) :].any()  # the padding stays zero


def test_dposg_on_one_learner_is_optimistic_gradient() -> None:
    # Its points of evaluation Z_k are the iterates of the optimistic gradient: eliminate X.
    first, second = _player(), _player()
    dposg, optimistic = _optimizer(first, {"name": "dposg"}, {}), _optimizer(second, {"name": "omd"}, {})
    for k in range(40):
        dposg.extrapolate()
        np.testing.assert_allclose(_weights(first), _weights(second), rtol=1e-5, atol=1e-6)
        _evaluate(first, k)
        _evaluate(second, k)
        dposg.step()
        optimistic.step()


def test_weight_decay_is_taken_at_the_point_of_evaluation() -> None:
    # Extragradient on g(w) = 0 with an L2 penalty d/2 |w|^2: Z = X - eta d X, X <- X - eta d Z.
    player = _player()
    optimizer = _optimizer(player, {"name": "extragradient"}, {"weight_decay": 0.5})
    player.zero_grad()
    optimizer.extrapolate()
    player.zero_grad()
    optimizer.step()
    np.testing.assert_allclose(_weights(player), START * (1 - LR * 0.5 * (1 - LR * 0.5)), rtol=1e-6)


@pytest.mark.parametrize(("clip", "scale"), [(None, 1.0), (2.5, 0.5), (50.0, 1.0)])
def test_long_gradients_are_scaled_to_the_clip_norm(clip: float | None, scale: float) -> None:
    player = _player()
    optimizer = _optimizer(player, {"name": "sgd"}, {"clip_norm": clip})
    gradient = np.array([3.0, 0.0, 4.0, 0.0])
    player.gradient[:4] = torch.tensor(gradient)
    optimizer.step()
    np.testing.assert_allclose(_weights(player), START - LR * scale * gradient, rtol=1e-5, atol=1e-6)


def test_the_schedule_sets_the_rate_of_every_iteration() -> None:
    player = _player()
    mine = {"schedule": "linear", "final": 0.0, "warmup": 2}
    optimizer = _optimizer(player, {"name": "sgd"}, mine, steps=10)
    moved = []
    for iteration in range(10):
        before = _weights(player)
        optimizer.begin(iteration)
        player.gradient.fill_(1.0)
        optimizer.step()
        moved.append(float((before - _weights(player))[0]) / LR)
    assert moved == pytest.approx([0.5, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1], abs=1e-5)


@pytest.mark.parametrize("case", list(CASES))
def test_saved_state_continues_exactly(case: str) -> None:
    settings, mine, _ = CASES[case]

    def run(player: FlatPlayer, optimizer: PlayerOptimizer, numbers: range) -> None:
        for number in numbers:
            optimizer.begin(number)
            if optimizer.evaluates_first:
                _evaluate(player, -number)
            if optimizer.extrapolates:
                optimizer.extrapolate()
            _evaluate(player, number)
            optimizer.step()

    whole, first = _player(), _player()
    run(whole, _optimizer(whole, settings, mine), range(12))
    optimizer = _optimizer(first, settings, mine)
    run(first, optimizer, range(5))
    saved = {name: tensor.clone() for name, tensor in optimizer.tensors().items()}
    second = _player(_weights(first))
    resumed = _optimizer(second, settings, mine)
    resumed.load(saved)
    run(second, resumed, range(5, 12))
    assert torch.equal(second.vector, whole.vector)
