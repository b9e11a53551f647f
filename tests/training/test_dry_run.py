"""Dry runs against closed forms: parameters, operations, and the vectors that each method holds."""

import time
from pathlib import Path
from typing import Any

import pytest
import torch

from gossipgan.config import Settings
from gossipgan.games import build
from gossipgan.training.dry_run import DryRun, _iterate, _learner, dry_run
from gossipgan.training.meters import BackwardMeter, OperationsMeter

CPU = torch.device("cpu")

#: A small game without buffers in D; seconds are of no account.
SMALL: dict[str, Any] = {
    "data": {"size": 28, "channels": 1},
    "game": {"width": 4, "latent": 8, "discriminator_norm": "none"},
    "averaging": {"ema_half_life": None},
    "training": {"steps": 1000, "batch": 4, "threads": 1, "device": "cpu"},
    "evaluation": {"headline": "fast"},
}


def _settings(**sections: dict[str, Any]) -> Settings:
    merged = {name: {**SMALL.get(name, {}), **sections.get(name, {})} for name in {*SMALL, *sections}}
    return Settings.model_validate(merged)


def _dry(**sections: dict[str, Any]) -> DryRun:
    return dry_run(_settings(**sections), 1, CPU, seconds=0.02)


def _vectors(settings: Settings) -> tuple[int, int, int]:
    """Bytes of G's and of D's flat vector, in which every parameter fills up multiples of 16 floats, and of G's
    batch norms: mean and variance of each channel, and one count each."""
    networks = build(settings.game, settings.data)
    vectors = [sum(-(-one.numel() // 16) * 16 * 4 for one in network.parameters()) for network in networks]
    width = settings.game.width
    return vectors[0], vectors[1], sum(2 * 4 * channels + 8 for channels in (8 * width, 4 * width, 2 * width))


def test_parameters_are_the_published_numbers() -> None:
    mnist = _dry(game={"width": 64, "latent": 128, "discriminator_norm": "batch"})
    # Weights: 128*512*9 + 512*256*16 + 256*128*16 + 128*16, and two a channel of each batch norm.
    assert mnist.generator_parameters == 589824 + 2097152 + 524288 + 2048 + 2 * (512 + 256 + 128)
    assert mnist.discriminator_parameters == 1024 + 131072 + 524288 + 256 * 9 + 2 * (128 + 256)
    cifar = _dry(
        data={"size": 32, "channels": 3},
        game={"network": "resnet32", "width": 128, "latent": 128, "discriminator_norm": "spectral"},
        training={"batch": 1},
    )
    assert round((cifar.generator_parameters + cifar.discriminator_parameters) / 1e6, 1) == 5.1


def _operations(width: int, latent: int, batch: int) -> dict[str, int]:
    """Multiplications and additions of forward passes through the DCGAN for 28 pixels, and through first layers."""
    # Channels in and out, kernel, and pixels: of the input in G (transposed convolutions), of the output in D.
    generator = [
        (latent, 8 * width, 3, 1),
        (8 * width, 4 * width, 4, 3),
        (4 * width, 2 * width, 4, 6),
        (2 * width, 1, 4, 14),
    ]
    discriminator = [
        (1, width, 4, 14),
        (width, 2 * width, 4, 7),
        (2 * width, 4 * width, 4, 3),
        (4 * width, 1, 3, 1),
    ]
    costs = {}
    for name, layers in (("g", generator), ("d", discriminator)):
        each = [2 * batch * inputs * outputs * kernel**2 * side**2 for inputs, outputs, kernel, side in layers]
        costs |= {name: sum(each), f"{name}1": each[0]}
    return costs


@pytest.mark.parametrize("norm", ["none", "batch", "spectral"])
@pytest.mark.parametrize("d_steps", [1, 3])
def test_operations_of_alternating_steps_are_those_of_their_convolutions(norm: str, d_steps: int) -> None:
    measured = _dry(game={"discriminator_norm": norm}, optimizer={"d_steps": d_steps})
    cost = _operations(4, 8, 4)
    # Backward: one forward pass's worth for the weights, one for the inputs of all layers but the first.
    d_step = cost["g"] + 2 * (cost["d"] + cost["d"] + cost["d"] - cost["d1"])
    # D's weights get no gradient, but its inputs do: they are G's pictures.
    g_step = cost["g"] + cost["d"] + cost["d"] + cost["g"] + cost["g"] - cost["g1"]
    assert measured.operations == d_steps * d_step + g_step
    assert measured.all_operations == 1000 * measured.operations


@pytest.mark.parametrize(("name", "gradients"), [("adam", 1), ("oadam", 1), ("dposg", 1), ("extra-adam", 2)])
def test_operations_of_a_joint_gradient_need_one_forward_pass_of_g(name: str, gradients: int) -> None:
    measured = _dry(optimizer={"name": name, "update": "simultaneous"})
    cost = _operations(4, 8, 4)
    of_discriminator = 2 * (cost["d"] + cost["d"] + cost["d"] - cost["d1"])
    of_generator = cost["d"] + cost["g"] + cost["g"] - cost["g1"]
    assert measured.operations == gradients * (cost["g"] + of_discriminator + of_generator)


#: Vectors that an optimizer keeps of a player, and counts of steps.
OPTIMIZERS: dict[str, tuple[dict[str, Any], int, int]] = {
    "sgd": ({"name": "sgd"}, 0, 0),
    "sgd with momentum": (
        {"name": "sgd", "generator": {"momentum": -0.3}, "discriminator": {"momentum": 0.5}},
        1,
        0,
    ),
    "adam": ({"name": "adam"}, 2, 1),
    "radam": ({"name": "radam"}, 2, 1),
    "omd": ({"name": "omd"}, 1, 0),
    "oadam": ({"name": "oadam"}, 3, 1),
    "extragradient": ({"name": "extragradient", "update": "simultaneous"}, 1, 0),
    "extra-adam": ({"name": "extra-adam", "update": "simultaneous"}, 3, 1),
    "extra-adam with own moments": (
        {"name": "extra-adam", "update": "simultaneous", "extrapolation": "own"},
        5,
        2,
    ),
    "dposg": ({"name": "dposg", "update": "simultaneous"}, 2, 0),
}


@pytest.mark.parametrize(("optimizer", "vectors", "counts"), OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_optimizers_hold_so_many_vectors_after_a_step(optimizer: dict[str, Any], vectors: int, counts: int) -> None:
    memory = _dry(optimizer=optimizer).memory
    generator, discriminator, buffers = _vectors(_settings())
    together = generator + discriminator
    assert memory.players == together + buffers
    assert memory.gradients == together
    assert memory.optimizers == vectors * together + 2 * counts * 4
    assert (memory.lookahead, memory.averages) == (0, 0)
    assert memory.device_peak is None


LOOKAHEADS: dict[str, tuple[dict[str, Any], int]] = {
    "joint": ({"kind": "joint"}, 1),
    "alternating": ({"kind": "alternating"}, 1),
    "joint with two k": ({"kind": "joint", "discriminator_k": 3}, 1),
    "nested": ({"kind": "nested", "k": 1000, "super_k": 10000}, 2),
    "moments begun anew": ({"kind": "joint", "k": 1000, "moments": "reset"}, 1),
    # Adam's two moments have slow ones each, from the first backtrack on.
    "moments pulled back": ({"kind": "joint", "k": 1000, "moments": "pullback"}, 3),
    "moments pulled back twice": ({"kind": "nested", "k": 50, "super_k": 100, "moments": "pullback"}, 6),
}


@pytest.mark.parametrize(("lookahead", "vectors"), LOOKAHEADS.values(), ids=LOOKAHEADS)
def test_lookahead_holds_so_many_vectors(lookahead: dict[str, Any], vectors: int) -> None:
    memory = _dry(lookahead=lookahead).memory
    generator, discriminator, _ = _vectors(_settings())
    assert memory.lookahead == vectors * (generator + discriminator)


def test_each_average_holds_g_and_its_batch_norms() -> None:
    averaging = {"ema_decay": 0.9, "ema_slow_decay": 0.9, "uniform_from": 10}
    memory = _dry(averaging=averaging, lookahead={"kind": "joint"}).memory
    generator, _, buffers = _vectors(_settings())
    assert memory.averages == 3 * (generator + buffers)


def test_adam_with_lookahead_and_an_ema_holds_six_vectors_of_g_and_five_of_d() -> None:
    memory = _dry(averaging={"ema_decay": 0.9}, lookahead={"kind": "joint"}).memory
    generator, discriminator, buffers = _vectors(_settings())
    assert memory.held == 6 * generator + 5 * discriminator + 2 * buffers + 2 * 4


def test_activations_grow_by_the_same_for_every_picture_and_are_fewer_in_bf16() -> None:
    kept = [_dry(training={"batch": batch}).memory.activations for batch in (4, 8, 12)]
    assert kept[2] - kept[1] == kept[1] - kept[0] > 0
    assert _dry(training={"batch": 64, "precision": "bf16"}).memory.activations < (
        _dry(training={"batch": 64}).memory.activations
    )


@pytest.mark.parametrize("update", ["alternating", "simultaneous"])
@pytest.mark.parametrize("loss", ["hinge", "wgan-gp"])
def test_counting_changes_nothing_in_what_is_counted(loss: str, update: str) -> None:
    settings = _settings(game={"loss": loss}, optimizer={"update": update})
    counted, plain = (_learner(settings, 1, CPU) for _ in range(2))
    meter = BackwardMeter(held=set())
    with OperationsMeter(), meter:
        _iterate(counted)
    _iterate(plain)
    for one, other in zip(counted.players, plain.players, strict=True):
        assert torch.equal(one.vector, other.vector)
    assert meter.bytes == 0  # no graph outlives the iteration


@pytest.mark.parametrize(
    ("sections", "batches"),
    [
        ({}, 1),
        ({"optimizer": {"d_steps": 5}}, 5),
        ({"optimizer": {"name": "extra-adam", "update": "simultaneous"}}, 2),
        ({"mixing": {"kind": "gossip", "learners": 4}}, 4),
    ],
)
def test_pictures_are_all_that_all_learners_draw(sections: dict[str, Any], batches: int) -> None:
    assert _dry(**sections).pictures == 1000 * batches * 4


def test_time_is_measured_over_several_iterations_and_carried_on_to_the_end() -> None:
    began = time.perf_counter()
    measured = dry_run(_settings(), 1, CPU, seconds=0.5)
    elapsed = time.perf_counter() - began
    assert measured.timed >= 3
    assert 0 < measured.timed * measured.seconds < elapsed
    assert measured.seconds_error is not None
    assert measured.all_seconds == pytest.approx(1000 * measured.seconds)


@pytest.mark.parametrize("network", ["resnet32", "biggan32"])
def test_class_conditional_networks_get_classes(network: str) -> None:
    game = {"network": network, "classes": 10, "discriminator_norm": "spectral"}
    plain = _dry(data={"size": 32}, game={**game, "classes": 0})
    conditional = _dry(data={"size": 32}, game=game)
    assert conditional.generator_parameters > plain.generator_parameters


def test_nothing_is_written_and_no_random_draw_is_used_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    state = torch.get_rng_state()
    _dry()
    assert list(tmp_path.iterdir()) == []
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpus_peak_holds_state_and_activations() -> None:
    memory = dry_run(_settings(training={"device": "cuda", "batch": 64}), 1, torch.device("cuda"), seconds=0.5).memory
    assert memory.device_peak is not None
    assert memory.device_peak >= memory.held + memory.activations
