"""Learners in several processes of one host, which go on when one of the processes dies.

All that they say to each other goes over sockets (see ``sockets``), so that whatever waits can be given up at once:
torch.distributed's own calls would wait for one another until a timeout of the whole group.

**Why nothing is half done.** At a death the survivors are not in one place. In gossip a learner waits for its
neighbours alone, so that learners d links apart may be up to d exchanges apart; and of the dead process's last messages
some may have arrived and others not, so that a mix that needs all its rows has happened at some learners and not at
others: their mean has moved. No survivor can mend that alone. So they don't try to: all go back to one point before it.

- A *point* is an iteration after which every process has kept a copy of all its learners' state (``mark``). To keep one
  is the end of a barrier through the main process: nobody keeps point p before everybody has ended iteration p.
- Hence who has kept point p knows that everybody has kept the point before p. The last points of two processes are at
  most one apart, and with the last two at hand there is always one that all survivors have: the earliest of their last.
- When somebody is lost, each survivor gives up what is under way (its sockets are closed; new ones, with another token,
  follow, so that no late message of before can be taken for one of after), tells the keeper which points it has, and
  waits. The keeper (see ``membership``) answers when all that are left have done so, with who they are and the point.
- From the point on, everything is done anew by the survivors, with their own matrix: every mix has either happened at
  all of them or at none. If one more dies meanwhile, the same happens again, from the same point or a later one.

What it costs: two copies of the learners' state, and of the time, the iterations since the point.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor

from gossipgan.errors import UserError
from gossipgan.mixing.address import own_address
from gossipgan.mixing.connections import LostProcessError, Transfer
from gossipgan.mixing.group import Exchange, Want
from gossipgan.mixing.membership import Membership, View
from gossipgan.mixing.placement import Parcel, Placement, evenly
from gossipgan.mixing.sockets import Sockets, listen

#: Seconds of silence between processes. The keeper tells a dead one from one that has much to do, and sooner.
_PATIENCE = 12 * 3600.0


class LostError(UserError):
    """A process of the group has gone: nothing can be exchanged before the survivors have regrouped.

    Attributes:
        group: of the survivors.
    """

    def __init__(self, group: "Elastic") -> None:
        super().__init__(f"process {group.rank}: another process ended before training began")
        self.group = group


class Loss(NamedTuple):
    """A process that has gone.

    Attributes:
        rank: its number.
        learners: that it hosted, by their places in the group as it was before.
    """

    rank: int
    learners: range


class Elastic:
    """The processes that a keeper started, less those that have died since; a ``Group``.

    Args:
        learners: of the run; at least as many as there are processes.
        rank: of this process.
        processes: as many as were started.
        membership: the way to the keeper.

    Attributes:
        learners: of those that are left.
        local: this process's, by their places among these.

    Raises:
        LostError: a process has ended already.
    """

    def __init__(self, learners: int, rank: int, processes: int, membership: Membership) -> None:
        self.rank = rank
        self.waited = 0.0
        self._membership = membership
        self._counts = dict(enumerate(evenly(learners, processes)))
        self._sockets: Sockets | None = None
        self._enter(self._next_view(()))

    def close(self) -> None:
        """End the connections to other processes."""
        if self._sockets is not None:
            self._sockets.close()

    def regroup(self, points: Sequence[int]) -> tuple[int, list[Loss]]:
        """Give up what is under way, and begin anew with those that are left. All of them.

        Args:
            points: that this process can go on from.

        Returns:
            The point that all go on from, and who has gone.
        """
        self.close()
        view = self._next_view(points)
        lost = [
            Loss(rank, hosted)
            for rank, hosted in zip(self._counts, self._placement.hosted, strict=True)
            if rank not in view.members
        ]
        self._enter(view)
        return view.point, lost

    def _next_view(self, points: Sequence[int]) -> View:
        host = own_address()
        self._listener = listen(host)
        return self._membership.ready(points, (host, self._listener.getsockname()[1]))

    def _enter(self, view: View) -> None:
        self._counts = {rank: self._counts[rank] for rank in view.members}
        self._place = list(view.members).index(self.rank)
        self._placement = Placement(list(self._counts.values()), self._place)
        self.learners = sum(self._counts.values())
        self.local = self._placement.local
        self.main = self._place == 0
        self._sockets = Sockets(self._place, self._listener, view.addresses, bytes.fromhex(view.token), _PATIENCE)
        self._membership.watch(self._sockets)

    def exchange(self, messages: Mapping[int, Tensor], wants: Iterable[Want]) -> Exchange:
        sends, receives, received = self._placement.parcels(messages, wants)
        return _UnderWay(self, self._start(sends, receives), received)

    def gather(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        mine = [tensor.detach().contiguous() for tensor in tensors]
        if not self.main:
            self._do([(0, learner, tensor) for learner, tensor in zip(self.local, mine, strict=True)], [])
            return []
        others = [torch.empty_like(mine[0], memory_format=torch.contiguous_format) for _ in self._of_others()]
        self._do([], [(at, learner, room) for (at, learner), room in zip(self._of_others(), others, strict=True)])
        return [*mine, *others]

    def spread(self, tensor: Tensor) -> None:
        if self.main:
            self._do([(to, 0, tensor) for to in range(1, len(self._counts))], [])
        else:
            self._do([], [(0, 0, tensor)])

    def sum(self, tensor: Tensor) -> None:
        # By process and in their order, through the main one.
        if self.main:
            others = [torch.empty_like(tensor) for _ in range(1, len(self._counts))]
            self._do([], [(at, 0, room) for at, room in enumerate(others, start=1)])
            for one in others:
                tensor.add_(one)
        else:
            self._do([(0, 0, tensor)], [])
        self.spread(tensor)

    def share(self, value: Any) -> Any:
        text = json.dumps(value).encode() if self.main else b""
        length = torch.tensor([len(text)])
        self.spread(length)
        content = torch.zeros(int(length), dtype=torch.uint8)
        if text:
            content.copy_(torch.frombuffer(bytearray(text), dtype=torch.uint8))
        self.spread(content)
        return json.loads(bytes(content.numpy()))

    def barrier(self) -> None:
        self.sum(torch.zeros(1))

    def check_agreement(self, description: str) -> None:
        """All were started with one command, by one keeper."""

    def _of_others(self) -> list[tuple[int, int]]:
        """(process, learner) of all learners that are hosted elsewhere, in order; on the main process."""
        return [(at, learner) for at, hosted in enumerate(self._placement.hosted) if at for learner in hosted]

    def _start(self, sends: Sequence[Parcel], receives: Sequence[Parcel]) -> Transfer:
        assert self._sockets is not None
        return self._sockets.start(sends, receives)

    def _do(self, sends: Sequence[Parcel], receives: Sequence[Parcel]) -> None:
        self.finish(self._start(sends, receives))

    def finish(self, transfer: Transfer) -> None:
        """Wait for a transfer of this group.

        Raises:
            LostError: somebody has gone.
        """
        with self._waiting():
            transfer.wait()

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except (LostProcessError, RuntimeError):
            self._lose()
        finally:
            self.waited += time.monotonic() - began

    def _lose(self) -> NoReturn:
        raise LostError(self) from None


class _UnderWay:
    def __init__(self, group: Elastic, transfer: Transfer, received: Mapping[int, Tensor]) -> None:
        self._group = group
        self._transfer = transfer
        self._received = received

    def finish(self) -> Mapping[int, Tensor]:
        self._group.finish(self._transfer)
        return self._received
