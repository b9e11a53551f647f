"""Learners, and what they exchange."""

from typing import Literal, Self

from pydantic import Field, model_validator

from gossipgan.config.settings.section import Content, Count, Placement, Section

TopologyName = Literal[
    "ring",
    "line",
    "star",
    "complete",
    "grid",
    "torus",
    "hypercube",
    "exponential",
    "symmetric-exponential",
    "one-peer-exponential",
    "random-matching",
    "random-regular",
    "erdos-renyi",
    "small-world",
    "custom",
]

#: Kinds of mixing in which neighbours exchange weights.
_GOSSIP = ("gossip", "stale-gossip")
#: Wires that compress the difference to what neighbours know, with error feedback.
ERROR_FEEDBACK_WIRES = ("int8", "topk")


class MixingSettings(Section):
    """The learners of a run, and what they exchange: gradients, or weights with their neighbours."""

    kind: Literal["none", "allreduce", "server", "gossip", "stale-gossip"] = Field(
        "none",
        description="allreduce, server: all step by the mean gradient, which is centralized training; "
        "gossip: weights are averaged with neighbours; stale-gossip: with what neighbours sent one exchange earlier, "
        "which travels while the next iteration computes",
    )
    learners: int = Field(
        1, ge=1, le=10_000, description="copies of the two players, each with its shard of the pictures"
    )
    topology: TopologyName = Field("ring", description="gossip: who exchanges with whom; see gossipgan topology")
    weights: Literal["auto", "uniform", "metropolis", "max-degree", "given"] = Field(
        "auto", description="gossip: rule of the mixing matrix; auto: uniform on regular graphs, else metropolis"
    )
    degree: Count | None = Field(None, description="random-regular, small-world: neighbours of a learner")
    probability: float | None = Field(
        None, ge=0, le=1, description="erdos-renyi: of a link; small-world: of a link's being rewired"
    )
    topology_seed: int = Field(0, ge=0, description="seed of random graphs and matchings")
    file: str | None = Field(
        None,
        description="custom: file of edges or of a weight matrix; what it holds is part of a run's fingerprint",
        json_schema_extra=Content,
    )
    rounds: int = Field(1, ge=1, le=1000, description="gossip: rounds in a mix (t of the decentralized paper)")
    period: Count = Field(1, description="gossip: iterations between mixes; more than 1: local steps")
    discriminator_topology: TopologyName | None = Field(None, description="gossip: D's own topology; null: the same")
    discriminator_rounds: int | None = Field(None, ge=1, le=1000, description="gossip: D's own rounds; null: the same")
    mixes: Literal["fast", "slow", "both"] = Field(
        "fast",
        description="gossip: fast weights after fast steps, slow weights after a backtrack of Lookahead, or both",
    )
    moments: Literal["keep", "mix"] = Field(
        "keep", description="gossip: moments of the optimizers stay local, or are mixed"
    )
    buffers: Literal["keep", "mix"] = Field(
        "keep", description="gossip: batch-norm statistics stay local, or are mixed"
    )
    wire: Literal["float32", "bf16", "fp16", "int8", "topk"] = Field(
        "float32", description="gossip: format of the messages; int8 and topk with error feedback (CHOCO-gossip)"
    )
    topk: float = Field(0.05, gt=0, le=1, description="wire topk: share of the numbers that is sent")
    gamma: float = Field(0.5, gt=0, le=1, description="wires int8, topk: consensus step size of CHOCO-gossip")
    shards: Literal["iid", "by-class", "dirichlet", "by-size"] = Field(
        "iid",
        description="how pictures are dealt to learners: evenly; each its own classes; classes in shares drawn from a "
        "Dirichlet distribution; or learner i i + 1 parts",
    )
    dirichlet: float = Field(0.5, gt=0, description="shards dirichlet: concentration; the smaller, the less alike")
    timeout: float = Field(
        30.0,
        ge=1,
        description="seconds without a sign of life after which a process counts as lost",
        json_schema_extra=Placement,
    )
    on_loss: Literal["stop", "rewire"] = Field(
        "stop",
        description="what the loss of a process does to a run of --processes: stop: all end, and start again from the "
        "last checkpoint; rewire: those that are left go on without its learners, with Metropolis weights on what is "
        "left of the graph (on CPUs, of one host, unless learners exchange gradients)",
        json_schema_extra=Placement,
    )

    @model_validator(mode="after")
    def _loss_fits(self) -> Self:
        if self.on_loss == "rewire" and self.kind in ("allreduce", "server"):
            raise ValueError(
                f"on_loss: rewire is for learners that exchange weights, and those of kind: {self.kind} exchange "
                "gradients; use stop"
            )
        return self

    @model_validator(mode="after")
    def _wire_fits(self) -> Self:
        if self.wire in ERROR_FEEDBACK_WIRES and (
            self.topology in ("one-peer-exponential", "random-matching")
            or self.discriminator_topology in ("one-peer-exponential", "random-matching")
        ):
            raise ValueError(
                f"wire: {self.wire}'s error feedback needs neighbours that stay the same; use float32, bf16 or fp16"
            )
        if self.wire in ERROR_FEEDBACK_WIRES and (self.moments, self.buffers) != ("keep", "keep"):
            raise ValueError(f"wire: {self.wire}'s error feedback is for weights; use moments: keep and buffers: keep")
        if self.kind == "stale-gossip":
            if self.rounds != 1 or self.discriminator_rounds not in (None, 1):
                raise ValueError("rounds: stale gossip has one round under way at a time; use 1")
            if self.wire in ERROR_FEEDBACK_WIRES:
                raise ValueError(f"wire: {self.wire} is for kind: gossip; stale gossip knows float32, bf16 and fp16")
            if self.mixes != "fast":
                raise ValueError("mixes: stale gossip mixes fast weights; use fast")
        return self

    @property
    def gossips(self) -> bool:
        """Whether learners exchange weights with neighbours."""
        return self.kind in _GOSSIP
