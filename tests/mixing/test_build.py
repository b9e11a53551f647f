"""From settings to an exchange."""

from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from gossipgan.config import MixingSettings, Settings
from gossipgan.errors import UserError
from gossipgan.mixing import TOPOLOGIES
from gossipgan.mixing.build import build_mixing, schedules
from gossipgan.mixing.group import OneProcess

START = {"generator": [torch.zeros(40)], "discriminator": [torch.zeros(24)]}


def _settings(**mixing: Any) -> Settings:
    return Settings.model_validate({"mixing": {"learners": 8, **mixing}})


def test_the_settings_know_every_topology() -> None:
    assert set(get_args(MixingSettings.model_fields["topology"].annotation)) == set(TOPOLOGIES)


@pytest.mark.parametrize(("kind", "sends"), [("none", 0), ("gossip", 8 * 2 * (40 + 24) * 4)])
def test_one_message_carries_both_players_of_one_topology(kind: str, sends: int) -> None:
    mixing = build_mixing(_settings(kind=kind), OneProcess(8), START)
    mixing.weights(1, {name: {i: [part[0].clone()] for i in range(8)} for name, part in START.items()})
    assert mixing.bytes == sends


def test_players_may_have_topologies_and_rounds_of_their_own() -> None:
    settings = _settings(kind="gossip", discriminator_topology="complete", discriminator_rounds=2, rounds=3)
    found = schedules(settings)
    assert [(schedule.topology, rounds) for schedule, rounds in found.values()] == [("ring", 3), ("complete", 2)]
    mixing = build_mixing(settings, OneProcess(8), START)
    mixing.weights(1, {name: {i: [part[0].clone()] for i in range(8)} for name, part in START.items()})
    assert mixing.bytes == 8 * 4 * (3 * 2 * 40 + 2 * 7 * 24)


def test_between_mixes_nothing_is_sent() -> None:
    mixing = build_mixing(_settings(kind="gossip", period=3), OneProcess(8), START)
    sent = []
    for iteration in range(1, 8):
        mixing.weights(iteration, {name: {i: [part[0].clone()] for i in range(8)} for name, part in START.items()})
        sent.append(mixing.bytes)
    assert [after > before for before, after in zip([0, *sent], sent, strict=False)] == [
        iteration % 3 == 0 for iteration in range(1, 8)
    ]


def test_what_processes_agree_on_tells_every_exchange_from_another(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"

    def digest(content: str = "", **mixing: Any) -> str:
        path.write_text(content)
        return build_mixing(_settings(kind="gossip", **mixing), OneProcess(8), START).digest

    ring = "\n".join(f"{i} {(i + 1) % 8}" for i in range(8))
    found = [
        digest(),
        digest(topology="torus"),
        digest(weights="max-degree", topology="grid"),
        digest(weights="metropolis", topology="grid"),
        digest(rounds=2),
        digest(period=2),
        digest(discriminator_rounds=2),
        digest(topology="random-matching", topology_seed=1),
        digest(topology="random-matching", topology_seed=2),
        digest(f"{ring}\n0 4", topology="custom", file=str(path)),
        digest(f"{ring}\n0 3", topology="custom", file=str(path)),
    ]
    assert len(set(found)) == len(found)
    assert digest(ring, topology="custom", file=str(path)) == digest()  # the same matrices


@pytest.mark.parametrize(
    ("mixing", "message"),
    [
        ({"topology": "star", "weights": "uniform"}, "star: .*metropolis"),
        ({"topology": "hypercube", "learners": 6}, "hypercube"),
        ({"topology": "custom"}, "custom"),
        ({"topology": "random-matching"}, "dposg needs a fixed one"),
    ],
)
def test_a_topology_that_does_not_fit_is_refused(mixing: dict[str, Any], message: str) -> None:
    settings = Settings.model_validate(
        {
            "mixing": {"kind": "gossip", "learners": 8, **mixing},
            "optimizer": {"name": "dposg", "update": "simultaneous"},
        }
    )
    with pytest.raises(UserError, match=message):
        build_mixing(settings, OneProcess(settings.mixing.learners), START)
