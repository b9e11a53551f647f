"""Hosts on this machine: Linux network namespaces, joined by a bridge over links of limited bandwidth.

        host 0           host 1     ...   a namespace each, with one interface, eth0
          |tbf             |tbf           what a host sends
          |                |
          |tbf             |tbf           what it receives
        ---- bridge, in a namespace ----

Nothing has a name outside: a namespace lives as long as a process in it, and the kernel ends all processes in it when
this one ends, however it ends.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import IO, Self

from gossipgan.mixing.links import Link

INTERFACE = "eth0"

#: Hosts that fit on one machine: each runs a process with torch.
MOST_HOSTS = 64

#: Seconds of its rate that a link may send at once after a pause, and that may wait in front of it.
_BURST, _QUEUE = 0.005, 0.05

#: Bytes of a full packet, with its Ethernet header.
_PACKET = 1514

#: Fastest link that tbf keeps to here.
MOST_BANDWIDTH = 10e9

_TOOLS = ("unshare", "nsenter", "setpriv", "ip", "tc", "cat")

#: Before a command that must not outlive this process.
_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


class ImpossibleError(Exception):
    """This machine doesn't let one build hosts; the message says why, in a few words."""


class Hosts:
    """Hosts, from entering the block until leaving it.

    Args:
        count: of hosts, at most ``MOST_HOSTS``.
        link: each host's. Its latency is on the way from host to host, where the kernel has netem.

    Attributes:
        delayed: whether messages are delayed by the link's latency.

    Raises:
        ImpossibleError: on entering: not root, no such tool, or the kernel refuses.
    """

    def __init__(self, count: int, link: Link) -> None:
        self._count = count
        self._link = link
        self._open = ExitStack()
        self._holders: list[subprocess.Popen[str]] = []
        self.delayed = False

    def __enter__(self) -> Self:
        if not sys.platform.startswith("linux"):
            raise ImpossibleError("network namespaces are Linux's")
        missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
        if missing:
            raise ImpossibleError(f"there is no {missing[0]}: install iproute2 and util-linux")
        if os.geteuid() != 0:
            raise ImpossibleError("needs root: put sudo, or unshare --map-root-user, before the command")
        try:
            self._build()
        except subprocess.CalledProcessError as error:
            self.close()
            said = (error.stderr or "").strip().splitlines()
            raise ImpossibleError(f"{error.cmd[-1] if not said else said[0]}") from None
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all that runs on the hosts, and with that the hosts."""
        self._open.close()

    def address(self, host: int) -> str:
        """Of a host, on its interface."""
        return f"10.0.0.{host + 1}"

    def start(
        self, host: int, arguments: Sequence[str], environment: Mapping[str, str], errors: IO[bytes]
    ) -> subprocess.Popen[str]:
        """Run a command on a host. It ends with this process, if not before.

        Args:
            host: from 0.
            arguments: of the command, its name first.
            environment: beside this process's.
            errors: where its standard error goes.
        """
        process = subprocess.Popen(
            [*self._on(self._holders[host]), *_WITH_US, *arguments],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C is for this process, which ends that one
        )
        self._open.callback(_end, process)
        return process

    def _build(self) -> None:
        switch = self._hold()
        self._holders = [self._hold() for _ in range(self._count)]
        wiring = ["link add bridge0 type bridge", "link set bridge0 addrgenmode none up"]
        for host, holder in enumerate(self._holders):
            wiring += [
                f"link add host{host} type veth peer name {INTERFACE} netns {holder.pid}",
                f"link set host{host} addrgenmode none master bridge0 up",
            ]
        self._run(switch, "ip", wiring)
        for host, holder in enumerate(self._holders):
            self._run(
                holder,
                "ip",
                [
                    "link set lo up",
                    f"link set {INTERFACE} addrgenmode none up",
                    f"addr add {self.address(host)}/24 dev {INTERFACE}",
                ],
            )
            self._run(holder, "tc", [self._limit(INTERFACE, self._delay(holder))])
        self._run(switch, "tc", [self._limit(f"host{host}", "root") for host in range(self._count)])

    def _delay(self, holder: subprocess.Popen[str]) -> str:
        """Delay what a host sends, where the kernel can; says where the limit of its bandwidth belongs."""
        if not self._link.latency:
            return "root"
        try:
            delay = f"delay {self._link.latency * 1e6:.0f}us limit 100000"
            self._run(holder, "tc", [f"qdisc add dev {INTERFACE} root handle 1: netem {delay}"])
        except subprocess.CalledProcessError:
            return "root"
        self.delayed = True
        return "parent 1:1 handle 10:"

    def _limit(self, interface: str, place: str) -> str:
        rate = self._link.bandwidth
        burst = max(2 * _PACKET, int(rate / 8 * _BURST))
        queue = burst + max(10 * _PACKET, int(rate / 8 * _QUEUE))
        return f"qdisc add dev {interface} {place} tbf rate {rate:.0f}bit burst {burst} limit {queue}"

    def _hold(self) -> subprocess.Popen[str]:
        """A process in a network namespace of its own."""
        holder = subprocess.Popen(
            ["unshare", "--net", *_WITH_US, "cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._open.callback(_end, holder)
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stderr is not None
        # It answers from inside the namespace, or not at all.
        try:
            holder.stdin.write("\n")
            holder.stdin.flush()
        except BrokenPipeError:
            pass
        if not holder.stdout.readline():
            raise subprocess.CalledProcessError(1, ["unshare"], stderr=holder.stderr.read())
        return holder

    @staticmethod
    def _on(holder: subprocess.Popen[str]) -> list[str]:
        return ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "--"]

    def _run(self, holder: subprocess.Popen[str], tool: str, commands: Sequence[str]) -> None:
        subprocess.run(
            [*self._on(holder), tool, "-batch", "-"],
            input="".join(f"{command}\n" for command in commands),
            text=True,
            capture_output=True,
            check=True,
        )


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()
