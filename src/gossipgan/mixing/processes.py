"""Learners in several processes, over torch.distributed: gloo between CPUs, NCCL between GPUs.

Every process hosts consecutive learners. Nothing but the backend differs between CPUs and GPUs; learners' messages go
over NCCL, too, but between CPUs over sockets of our own (see ``sockets``).
"""

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor

from gossipgan.errors import UserError
from gossipgan.mixing.address import check_addresses, own_address
from gossipgan.mixing.group import Exchange, Want
from gossipgan.mixing.placement import Parcel, Placement, evenly
from gossipgan.mixing.sockets import TOKEN_BYTES, Sockets, listen

#: How long processes wait for the main one to score.
_PATIENCE = timedelta(hours=12)

#: Room for an address and a port as JSON; IPv6 with the name of an interface included.
_ADDRESS_BYTES = 128


class Processes:
    """The processes of the default group of torch.distributed, which must have been initialised.

    Args:
        learners: of the run; at least as many as there are processes.
        device: where the learners' tensors are.
        timeout: seconds that a process waits for another: the default group's.

    Raises:
        UserError: fewer learners than processes; or the processes' addresses do not reach one another.
    """

    def __init__(self, learners: int, device: torch.device, timeout: float) -> None:
        self.learners = learners
        self.rank, self.processes = dist.get_rank(), dist.get_world_size()
        if learners < self.processes:
            raise UserError(
                f"mixing.learners: {learners} learners cannot fill {self.processes} processes; "
                f"use at most {learners} processes, or more learners"
            )
        self._device = device
        self._timeout = timeout
        # What the main process decides after it has scored may take it longer than any exchange.
        self._patient = cast(dist.ProcessGroup, dist.new_group(timeout=_PATIENCE))
        self._placement = Placement(evenly(learners, self.processes), self.rank)
        self._hosted = self._placement.hosted
        self.local = self._placement.local
        self.main = self.rank == 0
        self.waited = 0.0
        self.barrier()  # NCCL wants all processes in its first call
        self._sockets = self._open_sockets() if device.type == "cpu" else None

    def close(self) -> None:
        """End the connections to other processes. The default group stays."""
        if self._sockets is not None:
            self._sockets.close()

    def exchange(self, messages: Mapping[int, Tensor], wants: Iterable[Want]) -> Exchange:
        sends, receives, received = self._placement.parcels(messages, wants)
        with self.waiting():
            works = self._start(sends, receives)
        return _UnderWay(self, works, received)

    def _start(self, sends: Sequence[Parcel], receives: Sequence[Parcel]) -> Sequence[Any]:
        if self._sockets is not None:
            return [self._sockets.start(sends, receives)]
        operations = [dist.P2POp(dist.irecv, tensor, at, tag=sender) for at, sender, tensor in receives]
        operations += [dist.P2POp(dist.isend, tensor, to, tag=sender) for to, sender, tensor in sends]
        return dist.batch_isend_irecv(operations) if operations else []

    def _open_sockets(self) -> Sockets:
        host = own_address()
        listener = listen(host)
        told = torch.zeros(_ADDRESS_BYTES, dtype=torch.uint8)
        text = json.dumps((host, listener.getsockname()[1])).encode()
        told[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        everybody = [torch.empty_like(told) for _ in self._hosted]
        with self.waiting():
            dist.all_gather(everybody, told)
        addresses = [tuple(json.loads(bytes(one.numpy()).rstrip(b"\0"))) for one in everybody]
        check_addresses([host for host, _ in addresses])
        token = bytes.fromhex(self.share(secrets.token_hex(TOKEN_BYTES)))
        return Sockets(self.rank, listener, addresses, token, self._timeout)

    def gather(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        most = max(len(hosted) for hosted in self._hosted)
        mine = torch.stack([tensors[min(index, len(tensors) - 1)] for index in range(most)])
        everybody = [torch.empty_like(mine) for _ in self._hosted] if self.main else None
        with self.waiting():
            dist.gather(mine, everybody, dst=0)
        if everybody is None:
            return []
        return [
            part[index] for part, hosted in zip(everybody, self._hosted, strict=True) for index in range(len(hosted))
        ]

    def spread(self, tensor: Tensor) -> None:
        with self.waiting():
            dist.broadcast(tensor, src=0)

    def sum(self, tensor: Tensor) -> None:
        with self.waiting():
            dist.all_reduce(tensor)

    def share(self, value: Any) -> Any:
        # As JSON and not by torch's object lists, which unpickle.
        text = json.dumps(value).encode() if self.main else b""
        length = torch.tensor([len(text)], device=self._device)
        with self.waiting():
            dist.broadcast(length, src=0, group=self._patient)
        content = torch.zeros(int(length), dtype=torch.uint8, device=self._device)
        if self.main:
            content.copy_(torch.frombuffer(bytearray(text), dtype=torch.uint8))
        with self.waiting():
            dist.broadcast(content, src=0, group=self._patient)
        return json.loads(bytes(content.cpu().numpy()))

    def barrier(self) -> None:
        with self.waiting():
            dist.all_reduce(torch.zeros(1, device=self._device), group=self._patient)

    def check_agreement(self, description: str) -> None:
        """Compare a description of what is run across processes, before anything is sent that depends on it.

        Raises:
            UserError: another process was given something else.
        """
        digest = hashlib.sha256(description.encode()).digest()
        mine = torch.frombuffer(bytearray(digest), dtype=torch.uint8).long().to(self._device)
        first = mine.clone()
        self.spread(first)
        differs = torch.zeros(self.processes, device=self._device)
        differs[self.rank] = float(not torch.equal(mine, first))
        self.sum(differs)
        others = differs.nonzero().flatten().tolist()
        if others:
            raise UserError(
                f"process {others[0]} runs other settings, data or code than process 0; "
                "start all processes with the same command, on the same version"
            )

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time of the block as spent waiting for others, and say in one line where one has gone."""
        began = time.monotonic()
        try:
            yield
        except RuntimeError as error:
            raise UserError(
                f"process {self.rank}: another process has ended, or did not answer within {self._timeout:g} s "
                f"(mixing.timeout): {str(error).splitlines()[0][:200]}"
            ) from None
        finally:
            self.waited += time.monotonic() - began


class _UnderWay:
    def __init__(self, group: Processes, works: Sequence[Any], received: Mapping[int, Tensor]) -> None:
        self._group = group
        self._works = works
        self._received = received

    def finish(self) -> Mapping[int, Tensor]:
        with self._group.waiting():
            for work in self._works:
                work.wait()
        return self._received
