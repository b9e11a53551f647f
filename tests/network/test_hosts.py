"""Hosts for real, where this machine allows them: links as slow as they should be, and nothing left behind."""

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossipgan.errors import UserError
from gossipgan.mixing.links import Link
from gossipgan.network import hosts as hosts_module
from gossipgan.network.hosts import INTERFACE, Hosts, ImpossibleError
from gossipgan.network.measure import measure
from gossipgan.network.schemes import Scheme

LINK = Link(bandwidth=50e6, latency=0.0)


def _obstacle() -> str | None:
    try:
        with Hosts(1, LINK):
            return None
    except ImpossibleError as impossible:
        return str(impossible)


OBSTACLE = _obstacle()
real = pytest.mark.skipif(OBSTACLE is not None, reason=f"no hosts on this machine: {OBSTACLE}")


def _marked(mark: str) -> list[int]:
    """Processes that inherited a variable."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"HOSTS_OF_TEST={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [process for process in found if process != os.getpid()]


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Marks what the test starts, and sees that none of it stays: namespaces live only as long as what is in them."""
    text = secrets.token_hex(8)
    monkeypatch.setenv("HOSTS_OF_TEST", text)
    named = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    yield text
    deadline = time.monotonic() + 10
    while _marked(text) and time.monotonic() < deadline:
        time.sleep(0.02)  # the kernel takes a moment to end a process
    assert not _marked(text)
    assert subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout == named
    assert not [path for path in Path("/sys/class/net").iterdir() if path.name.startswith(("host", "bridge0"))]


def _run(hosts: Hosts, host: int, *command: str) -> str:
    with tempfile.TemporaryFile() as errors:
        process = hosts.start(host, command, {}, errors)
        assert process.stdout is not None
        out: str = process.stdout.read()
        assert process.wait() == 0
    return out


@real
@pytest.mark.usefixtures("mark")
def test_hosts_have_one_limited_interface_each_and_reach_one_another() -> None:
    with Hosts(3, LINK) as hosts:
        listening = _run(hosts, 0, "ip", "-brief", "address", "show", "dev", INTERFACE)
        assert f"{hosts.address(0)}/24" in listening
        limits = _run(hosts, 2, "tc", "qdisc", "show", "dev", INTERFACE)
        assert "tbf" in limits
        assert "rate 50Mbit" in limits
        code = (
            "import socket, sys\n"
            "listener = socket.create_server(('0.0.0.0', 5000))\n"
            "print('listens', flush=True)\n"
            "print(listener.accept()[1][0], flush=True)"
        )
        with tempfile.TemporaryFile() as errors:
            server = hosts.start(0, [sys.executable, "-c", code], {}, errors)
            assert server.stdout is not None
            assert server.stdout.readline() == "listens\n"
            call = f"import socket; socket.create_connection(('{hosts.address(0)}', 5000))"
            _run(hosts, 2, sys.executable, "-c", call)
            assert server.stdout.readline() == f"{hosts.address(2)}\n"


@real
@pytest.mark.usefixtures("mark")
def test_hosts_end_with_an_error_inside_the_block() -> None:
    hosts = Hosts(2, LINK)

    def interrupted() -> None:
        with hosts, tempfile.TemporaryFile() as errors:
            hosts.start(1, ["sleep", "600"], {}, errors)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


@real
@pytest.mark.usefixtures("mark")
def test_what_cannot_be_built_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts_module, "INTERFACE", "a name that is much too long")
    with pytest.raises(ImpossibleError) as impossible, Hosts(1, LINK):
        pass
    assert "\n" not in str(impossible.value)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("os.geteuid", lambda: 1000, "needs root"),
        ("sys.platform", "darwin", "network namespaces are Linux's"),
        ("shutil.which", lambda tool: None, "there is no unshare"),
    ],
)
def test_where_hosts_are_impossible_it_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, says: str
) -> None:
    monkeypatch.setattr(name, value)
    with pytest.raises(ImpossibleError, match=says), Hosts(1, LINK):
        pass


@real
@pytest.mark.usefixtures("mark")
def test_real_exchanges_are_timed_and_their_bytes_are_on_the_links() -> None:
    chosen = [Scheme("gossip", "ring", "int8"), Scheme("gossip", "one-peer-exponential"), Scheme("server")]
    with Hosts(3, LINK) as hosts:
        found = measure(hosts, 3, chosen, 20_000, 2, 240.0)
    assert len(found) == 3
    for scheme, measured in zip(chosen, found, strict=True):
        assert len(measured.seconds) == 2
        assert min(measured.seconds) > 0
        assert measured.computing > 0
        # Packets' headers, acknowledgements and barriers come on top of the messages.
        own = scheme.bytes(3, 20_000)
        assert own <= max(measured.sent, measured.received) <= 1.2 * own + 20_000


@real
def test_a_process_that_dies_is_one_line_and_leaves_nothing(mark: str) -> None:
    def kill(what: str) -> None:
        if what == "gossip, ring, float32":
            for process in _marked(mark):
                if b"RANK=1" in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                    os.kill(process, signal.SIGKILL)

    with Hosts(2, LINK) as hosts, pytest.raises(UserError) as ended:
        measure(hosts, 2, [Scheme("gossip", "ring", "bf16"), Scheme("gossip", "ring")], 200_000, 10, 240.0, kill)
    assert str(ended.value) == "the process of learner 1 was ended by signal 9"


@real
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_command_is_ended(mark: str, how: signal.Signals) -> None:
    command = [sys.executable, "-m", "gossipgan", "bench", "network", "--learners", "2", "--steps", "10000"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    # The command itself, who holds the bridge and two hosts, and a learner on each.
    while len(_marked(mark)) < 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(_marked(mark)) == 6
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    assert process.returncode == (130 if how == signal.SIGINT else -how)
