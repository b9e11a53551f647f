"""The ways to exchange that are measured, and what each of them puts on the busiest link."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gossipgan.config import ERROR_FEEDBACK_WIRES
from gossipgan.mixing import costs
from gossipgan.mixing.links import Link
from gossipgan.mixing.topologies import build_schedule

TOPOLOGIES = ("ring", "exponential", "one-peer-exponential")
WIRES = ("float32", "bf16", "fp16", "int8", "topk")

#: Share of the numbers that topk sends.
TOPK = 0.05

#: Numbers in a block of int8, which share one scale.
_BLOCK = 2048


@dataclass(frozen=True)
class Phase:
    """A part of a step that begins when all have ended the part before.

    Attributes:
        messages: that share the busiest direction of a link.
        size: of each, in bytes.
    """

    messages: int
    size: float


@dataclass(frozen=True)
class Scheme:
    """A way to exchange.

    Attributes:
        kind: what learners do.
        topology: of gossip.
        wire: format of the messages.
    """

    kind: Literal["gossip", "all-reduce", "server"]
    topology: str | None = None
    wire: str = "float32"

    @property
    def name(self) -> str:
        """Without the wire."""
        return self.kind if self.topology is None else f"{self.kind}, {self.topology}"

    def message(self, parameters: int) -> int:
        """Bytes of a message that holds so many numbers."""
        if self.wire in ("bf16", "fp16"):
            return 2 * parameters
        if self.wire == "int8":
            return parameters + 4 * math.ceil(parameters / _BLOCK)
        if self.wire == "topk":
            return 8 * max(1, math.ceil(TOPK * parameters))
        return 4 * parameters

    def phases(self, learners: int, parameters: int) -> list[Phase]:
        """Phases of a step, one after the other.

        All-reduce is a ring's: 2 (n-1) turns with an n-th of the vector. A server takes everybody's vector at once, and
        its mean goes down a binary tree, as gloo broadcasts: ceil(log2 n) times over the busiest link.
        """
        size = float(self.message(parameters))
        if learners == 1:
            return []
        if self.kind == "all-reduce":
            return [Phase(1, size / learners)] * (2 * (learners - 1))
        if self.kind == "server":
            return [Phase(learners - 1, size), *[Phase(1, size)] * (learners - 1).bit_length()]
        return [Phase(_most_neighbours(str(self.topology), learners), size)]

    def bytes(self, learners: int, parameters: int) -> float:
        """That a step puts through the busiest learner's link, in the direction in which it is more."""
        if self.kind == "server":
            return float((learners - 1) * self.message(parameters))
        return sum(phase.messages * phase.size for phase in self.phases(learners, parameters))

    def limit(self, learners: int, parameters: int, bandwidth: float) -> float:
        """Seconds that its bytes take on the busiest links, phase by phase: no step can be faster."""
        return sum(8 * phase.messages * phase.size for phase in self.phases(learners, parameters)) / bandwidth

    def modelled(self, learners: int, parameters: int, link: Link) -> float:
        """Seconds a step by the plain model of ``mixing.costs``, whose server returns the mean to each learner."""
        size = self.message(parameters)
        if self.kind == "all-reduce":
            return costs.all_reduce(learners, size, link).seconds
        if self.kind == "server":
            return costs.server(learners, size, link).seconds
        return costs.gossip(build_schedule(str(self.topology), learners), 1, size, link).seconds


def schemes(topologies: Sequence[str] = TOPOLOGIES, wires: Sequence[str] = WIRES) -> list[Scheme]:
    """All that are measured: gossip, in every wire that fits, and both kinds of centralized training."""
    gossip = [
        Scheme("gossip", topology, wire)
        for topology in topologies
        for wire in wires
        # Error feedback is for neighbours that stay the same.
        if not (topology == "one-peer-exponential" and wire in ERROR_FEEDBACK_WIRES)
    ]
    return [*gossip, Scheme("all-reduce"), Scheme("server")]


@functools.cache
def _most_neighbours(topology: str, learners: int) -> int:
    return costs.degrees(build_schedule(topology, learners)).most
