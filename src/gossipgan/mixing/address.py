"""Where this process can be reached by the others of its run."""

import os
import socket
import struct
from contextlib import suppress
from ipaddress import ip_address

from gossipgan.errors import UserError

#: Linux's SIOCGIFADDR: the IPv4 address of an interface.
_INTERFACE_ADDRESS = 0x8915


def own_address() -> str:
    """The address that this host has towards the one where the processes meet.

    That is the address of the interface that ``GLOO_SOCKET_IFNAME`` names, as for gloo, or else the one from which
    packets to ``MASTER_ADDR`` leave: loopback where that is loopback.

    Raises:
        UserError: there is no such interface, or no way to that host.
    """
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    if interface:
        found = _of_interface(interface)
        if found is None:
            raise UserError(f"GLOO_SOCKET_IFNAME={interface}: no interface with an IPv4 address; see: ip address")
        return found
    host = os.environ.get("MASTER_ADDR", "localhost")
    try:
        choices = socket.getaddrinfo(host, 1, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise UserError(f"MASTER_ADDR={host}: cannot be found ({error.strerror}); name the first host") from None
    for family, kind, protocol, _, address in choices:
        # Connecting sends nothing over UDP; it looks up the way.
        with suppress(OSError), socket.socket(family, kind, protocol) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    raise UserError(f"MASTER_ADDR={host}: there is no way to it from this host; name the first host's address")


def check_addresses(addresses: list[str]) -> None:
    """Refuse addresses of processes that do not reach one another.

    Raises:
        UserError: some are loopback and others are not.
    """
    local = [process for process, address in enumerate(addresses) if ip_address(address).is_loopback]
    if local and len(local) < len(addresses):
        raise UserError(
            f"process {local[0]} listens at {addresses[local[0]]}, which other hosts cannot reach: its host's name "
            "means that address there; set GLOO_SOCKET_IFNAME to the interface of its network, such as eth0"
        )


def _of_interface(name: str) -> str | None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket, suppress(OSError):
        answer = fcntl.ioctl(any_socket, _INTERFACE_ADDRESS, struct.pack("256s", name[:15].encode()))
        return socket.inet_ntoa(answer[20:24])
    return None
