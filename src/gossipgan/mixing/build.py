"""From settings to what learners exchange."""

from collections.abc import Collection, Mapping, Sequence

from torch import Tensor

from gossipgan.config import ERROR_FEEDBACK_WIRES, Settings
from gossipgan.mixing.base import Mixing, Silence
from gossipgan.mixing.centralized import AllReduce, Server
from gossipgan.mixing.decentralized import Decentralized, join
from gossipgan.mixing.gossip import ChocoGossip, Gossip, StaleGossip
from gossipgan.mixing.group import Group
from gossipgan.mixing.schedule import Schedule
from gossipgan.mixing.survivors import without
from gossipgan.mixing.topologies import build_schedule
from gossipgan.mixing.wires import build_wire


def schedules(settings: Settings, lost: Collection[int] = ()) -> dict[str, tuple[Schedule, int]]:
    """Mixing matrices and rounds of each player, by its name; empty where learners do not gossip.

    Args:
        settings: ``mixing``, and the optimizer's name, are read.
        lost: numbers of learners that are not there any more.

    Raises:
        UserError: the topology does not fit the learners, its options, or the method.
    """
    mixing = settings.mixing
    if not mixing.gossips:
        return {}

    def build(topology: str) -> Schedule:
        whole = build_schedule(
            topology,
            mixing.learners,
            weights=mixing.weights,
            degree=mixing.degree,
            probability=mixing.probability,
            seed=mixing.topology_seed,
            file=mixing.file,
            symmetric_for="dposg" if settings.optimizer.name == "dposg" else None,
        )
        return without(whole, lost)

    mine = build(mixing.topology)
    own = mixing.discriminator_topology
    discriminators = mine if own in (None, mixing.topology) else build(str(own))
    return {
        "generator": (mine, mixing.rounds),
        "discriminator": (discriminators, mixing.discriminator_rounds or mixing.rounds),
    }


def build_mixing(
    settings: Settings, group: Group, start: Mapping[str, Sequence[Tensor]], lost: Collection[int] = ()
) -> Mixing:
    """The exchange that the settings ask for.

    Args:
        settings: ``mixing``, and the optimizer's name, are read.
        group: the learners, those that are left.
        start: what is mixed of each player, as every learner starts from it.
        lost: numbers of learners that are not there any more.

    Raises:
        UserError: as ``schedules``.
    """
    mixing = settings.mixing
    if mixing.kind == "allreduce":
        return AllReduce(group)
    if mixing.kind == "server":
        return Server(group)
    if not mixing.gossips:
        return Silence()

    by_player = schedules(settings, lost)
    messages: dict[tuple[str, ...], tuple[Schedule, int]] = {(player,): found for player, found in by_player.items()}
    if by_player["generator"] == by_player["discriminator"]:
        messages = {tuple(by_player): by_player["generator"]}
    return Decentralized(
        [
            (players, _gossip(settings, group, schedule, rounds, join([t for one in players for t in start[one]])))
            for players, (schedule, rounds) in messages.items()
        ],
        mixing.period,
    )


def _gossip(settings: Settings, group: Group, schedule: Schedule, rounds: int, start: Tensor) -> Gossip:
    mixing = settings.mixing
    wire = build_wire(mixing.wire, len(start), mixing.topk)
    if mixing.kind == "stale-gossip":
        return StaleGossip(group, schedule, wire)
    if mixing.wire in ERROR_FEEDBACK_WIRES:
        return ChocoGossip(group, schedule, rounds, wire, start, mixing.gamma)
    return Gossip(group, schedule, rounds, wire)
