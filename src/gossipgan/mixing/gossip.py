"""Gossip: every learner replaces its vector by a weighted mean of its own and its neighbours', several rounds a mix.

    x_i <- sum_j W_ij x_j                                       float32
    x_i <- x_i + sum_j W_ij (Q(x_j) - Q(x_i))                   bf16, fp16: Q rounds
    y_j <- y_j + C(x_j - y_j);  x_i <- x_i + gamma sum_j W_ij (y_j - y_i)      int8, topk: C compresses

The last is CHOCO-gossip: y_j is what all neighbours know of learner j, so that what one message left out is in the
difference that the next one compresses (error feedback). In all three the learners' mean stays what it is, to rounding.
Sources: "A Decentralized Parallel Algorithm for Training Generative Adversarial Nets" (NeurIPS 2020), algorithm 1;
Koloskova, Stich and Jaggi, "Decentralized Stochastic Optimization and Gossip Algorithms with Compressed Communication"
(ICML 2019), algorithm 1.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from gossipgan.mixing.arithmetic import weighted_sum
from gossipgan.mixing.group import Exchange, Group
from gossipgan.mixing.schedule import Rows, Schedule
from gossipgan.mixing.wires import Float32, Wire


class Gossip:
    """Rounds of gossip over one vector of every learner.

    Args:
        group: the learners.
        schedule: mixing matrices.
        rounds: in a mix.
        wire: format of the messages.

    Attributes:
        bytes: sent by the local learners so far: each message once for every learner that receives it.
    """

    def __init__(self, group: Group, schedule: Schedule, rounds: int, wire: Wire) -> None:
        self._group = group
        self._schedule = schedule
        self._rounds = rounds
        self._wire = wire
        self.bytes = 0

    @property
    def digest(self) -> str:
        """Of the matrices of all rounds, and of how many rounds a mix has; SHA-256, in hex, and a number."""
        return f"{self._schedule.digest} {self._rounds}"

    def mix(self, number: int, vectors: Mapping[int, Tensor]) -> None:
        """All rounds of one mix; the vectors are overwritten. All processes.

        Args:
            number: of the mix, from 0: the schedule's rounds go on from where the mix before it ended.
            vectors: of the local learners, by number; float32, of one shape ``(length,)``.
        """
        for index in range(self._rounds):
            self._round(self._schedule.rows(number * self._rounds + index), vectors)

    def tensors(self) -> dict[int, dict[str, Tensor]]:
        """State of the local learners by number and name, for a checkpoint. Not copies."""
        return {}

    def load(self, tensors: Mapping[int, Mapping[str, Tensor]], *, rewired: bool = False) -> None:
        """Take up the state of the local learners. All processes.

        Args:
            tensors: as ``tensors`` gave them, by number.
            rewired: they come from before somebody was lost: the matrices were others then.
        """

    def _send(self, rows: Rows, messages: Mapping[int, Tensor]) -> Exchange:
        for i, row in enumerate(rows):
            self.bytes += sum(messages[j].nbytes for j, _ in row if j != i and j in messages)
        return self._group.exchange(messages, [(i, j) for i, row in enumerate(rows) for j, _ in row if j != i])

    @torch.no_grad()
    def _round(self, rows: Rows, vectors: Mapping[int, Tensor]) -> None:
        messages = {i: self._wire.encode(vector) for i, vector in vectors.items()}
        received = _Decoded(self._wire.decode, self._send(rows, messages).finish())
        # All are computed before any is overwritten: messages may be the vectors themselves.
        mixed = {i: torch.empty_like(vector) for i, vector in vectors.items()}
        for i, vector in vectors.items():
            if isinstance(self._wire, Float32):
                weighted_sum(((weight, vector if j == i else received[j]) for j, weight in rows[i]), mixed[i])
            else:
                mixed[i].copy_(vector)
                _pull(mixed[i], i, rows[i], received)
        for i, vector in vectors.items():
            vector.copy_(mixed[i])


class StaleGossip(Gossip):
    """Gossip whose messages travel while the next iteration computes, and arrive one mix late: another method.

        x_i^k <- x_i^k + sum_j W_ij (Q(x_j^{k-1}) - Q(x_i^{k-1}))

    where x^{k-1} is what was sent at the mix before. The learners' mean stays what it is. One round a mix.
    """

    def __init__(self, group: Group, schedule: Schedule, wire: Wire) -> None:
        super().__init__(group, schedule, 1, wire)
        self._sent: dict[int, Tensor] = {}
        self._rows: Rows = ()
        self._under_way: Exchange | None = None
        self._number = 0

    @torch.no_grad()
    def mix(self, number: int, vectors: Mapping[int, Tensor]) -> None:
        """Take in what arrived of the mix before, and send what is now. All processes."""
        if self._under_way is not None:
            received = _Decoded(self._wire.decode, self._under_way.finish())
            for i, vector in vectors.items():
                _pull(vector, i, self._rows[i], received)
        self._sent = {i: vector.clone() for i, vector in vectors.items()}
        self._number = number
        self._start()

    def _start(self) -> None:
        self._rows = self._schedule.rows(self._number)
        self._under_way = self._send(self._rows, {i: self._wire.encode(sent) for i, sent in self._sent.items()})

    def tensors(self) -> dict[int, dict[str, Tensor]]:
        return {i: {"sent": sent, "number": torch.tensor(self._number)} for i, sent in self._sent.items()}

    def load(self, tensors: Mapping[int, Mapping[str, Tensor]], *, rewired: bool = False) -> None:
        """What was under way is sent again, to those that hear from a learner now; bytes sent twice count once."""
        if not all(tensors.values()):
            return
        self._sent = {i: mine["sent"].clone() for i, mine in tensors.items()}
        self._number = int(next(iter(tensors.values()))["number"])
        bytes_before = self.bytes
        self._start()
        self.bytes = bytes_before


class ChocoGossip(Gossip):
    """CHOCO-gossip: compressed differences with error feedback, over a matrix that stays the same.

    Args:
        start: the vector that all learners start from, which all of them therefore know of each other.
        gamma: consensus step size, in (0, 1].
    """

    def __init__(self, group: Group, schedule: Schedule, rounds: int, wire: Wire, start: Tensor, gamma: float) -> None:
        super().__init__(group, schedule, rounds, wire)
        self._gamma = gamma
        self._known = {i: start.clone() for i in group.local}
        #: sum_j W_ij (y_j - y_i), kept up by what changes: a learner need not remember each neighbour.
        self._pull = {i: torch.zeros_like(start) for i in group.local}

    @torch.no_grad()
    def _round(self, rows: Rows, vectors: Mapping[int, Tensor]) -> None:
        messages = {i: self._wire.encode(vector - self._known[i]) for i, vector in vectors.items()}
        received = _Decoded(self._wire.decode, self._send(rows, messages).finish())
        for i, vector in vectors.items():
            self._known[i].add_(received[i])
            _pull(self._pull[i], i, rows[i], received)
            vector.add_(self._pull[i], alpha=self._gamma)

    def tensors(self) -> dict[int, dict[str, Tensor]]:
        return {i: {"known": self._known[i], "pull": self._pull[i]} for i in self._known}

    def load(self, tensors: Mapping[int, Mapping[str, Tensor]], *, rewired: bool = False) -> None:
        """What neighbours know of a learner stays true when others are lost; but it may have neighbours that do not
        know it, and all weigh it differently. So each tells what is known of it, once, in full."""
        for i, mine in tensors.items():
            self._known[i].copy_(mine["known"])
            self._pull[i].copy_(mine["pull"])
        if rewired:
            rows = self._schedule.rows(0)
            received = _Decoded(_as_it_is, self._send(rows, self._known).finish())
            for i, pull in self._pull.items():
                pull.zero_()
                _pull(pull, i, rows[i], received)


def _pull(vector: Tensor, i: int, row: Sequence[tuple[int, float]], received: "_Decoded") -> None:
    """``vector += sum_j W_ij (x_j - x_i)``, in ascending order of j."""
    mine = received[i]
    for j, weight in row:
        if j != i:
            vector.add_(received[j] - mine, alpha=weight)


def _as_it_is(message: Tensor) -> Tensor:
    return message


class _Decoded:
    """Messages, each decoded once, on first use."""

    def __init__(self, decode: Callable[[Tensor], Tensor], messages: Mapping[int, Tensor]) -> None:
        self._decode = decode
        self._messages = messages
        self._vectors: dict[int, Tensor] = {}

    def __getitem__(self, sender: int) -> Tensor:
        if sender not in self._vectors:
            self._vectors[sender] = self._decode(self._messages[sender])
        return self._vectors[sender]
