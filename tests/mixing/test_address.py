"""Where a process can be reached: towards the host where all meet."""

import sys

import pytest

from gossipgan.errors import UserError
from gossipgan.mixing.address import check_addresses, own_address


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GLOO_SOCKET_IFNAME", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("meeting", ["127.0.0.1", "localhost", None])
def test_who_meets_on_loopback_listens_there(monkeypatch: pytest.MonkeyPatch, meeting: str | None) -> None:
    if meeting is not None:
        monkeypatch.setenv("MASTER_ADDR", meeting)
    assert own_address() in ("127.0.0.1", "::1")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for an interface's address")
def test_an_interface_can_be_chosen_as_for_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "192.0.2.1")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    assert own_address() == "127.0.0.1"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nosuch0")
    with pytest.raises(UserError, match="GLOO_SOCKET_IFNAME=nosuch0: no interface with an IPv4 address"):
        own_address()


def test_a_host_that_nobody_knows_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "no such host")
    with pytest.raises(UserError, match="MASTER_ADDR=no such host: cannot be found") as refused:
        own_address()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("addresses", [["127.0.0.1", "127.0.0.1"], ["10.0.0.1", "10.0.0.2"], ["::1"], ["fe80::1%eth0"]])
def test_addresses_of_one_kind_are_taken(addresses: list[str]) -> None:
    check_addresses(addresses)


def test_loopback_among_other_addresses_is_refused() -> None:
    with pytest.raises(UserError, match=r"process 1 listens at 127\.0\.1\.1, which other hosts cannot reach"):
        check_addresses(["10.0.0.1", "127.0.1.1"])
