"""What schemes put on links, against sums worked out by hand and the wires' own messages."""

import pytest
import torch

from gossipgan.mixing.links import Link
from gossipgan.mixing.wires import build_wire
from gossipgan.network.schemes import TOPK, Scheme, schemes

#: 2.3 MB as float32: 184 ms at 100 Mbit/s.
PARAMETERS = 575_000
LINK = Link(bandwidth=100e6, latency=0.0)


def test_gossip_in_every_wire_that_fits_and_both_centralized_ways_are_measured() -> None:
    names = [(scheme.name, scheme.wire) for scheme in schemes()]
    wires = ["float32", "bf16", "fp16", "int8", "topk"]
    assert names == [
        *(("gossip, ring", wire) for wire in wires),
        *(("gossip, exponential", wire) for wire in wires),
        # Error feedback needs neighbours that stay the same.
        *(("gossip, one-peer-exponential", wire) for wire in wires[:3]),
        ("all-reduce", "float32"),
        ("server", "float32"),
    ]


@pytest.mark.parametrize("wire", ["float32", "bf16", "fp16", "int8", "topk"])
@pytest.mark.parametrize("parameters", [1, 2047, 2048, 2049, 10_001])
def test_a_message_is_as_long_as_the_wire_makes_it(wire: str, parameters: int) -> None:
    message = build_wire(wire, parameters, TOPK).encode(torch.randn(parameters))
    assert Scheme("gossip", "ring", wire).message(parameters) == message.nbytes


@pytest.mark.parametrize(
    ("scheme", "learners", "megabytes", "milliseconds"),
    [
        (Scheme("gossip", "one-peer-exponential"), 8, 2.3, 184),
        (Scheme("gossip", "ring"), 8, 4.6, 368),
        (Scheme("gossip", "ring"), 2, 2.3, 184),
        (Scheme("gossip", "exponential"), 8, 6.9, 552),
        (Scheme("gossip", "exponential"), 10_000, 14 * 2.3, 14 * 184),
        (Scheme("gossip", "ring", "bf16"), 8, 2.3, 184),
        (Scheme("all-reduce"), 8, 2.3 * 14 / 8, 184 * 14 / 8),
        (Scheme("all-reduce"), 2, 2.3, 184),
        # Seven vectors to the server; then its mean down a tree of depth three, over the server's link each time.
        (Scheme("server"), 8, 7 * 2.3, (7 + 3) * 184),
        (Scheme("server"), 5, 4 * 2.3, (4 + 3) * 184),
        (Scheme("server"), 2, 2.3, 2 * 184),
    ],
)
def test_limits_are_bytes_over_bandwidth(scheme: Scheme, learners: int, megabytes: float, milliseconds: float) -> None:
    assert scheme.bytes(learners, PARAMETERS) == pytest.approx(megabytes * 1e6)
    assert scheme.limit(learners, PARAMETERS, 100e6) == pytest.approx(milliseconds / 1e3)


@pytest.mark.parametrize("scheme", [scheme for scheme in schemes() if scheme.kind != "server"])
def test_without_latency_the_plain_model_is_the_limit(scheme: Scheme) -> None:
    assert scheme.modelled(8, PARAMETERS, LINK) == pytest.approx(scheme.limit(8, PARAMETERS, LINK.bandwidth))


def test_one_learner_exchanges_nothing() -> None:
    for scheme in schemes():
        assert scheme.limit(1, PARAMETERS, 100e6) == 0.0
