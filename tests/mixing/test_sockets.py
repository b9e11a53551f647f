"""Messages between processes over TCP: exact, in order, from friends alone, and nobody waits for the dead."""

import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
import torch
from torch import Tensor

from gossipgan.errors import UserError
from gossipgan.mixing import sockets
from gossipgan.mixing.connections import HEADER, UNASKED, LostProcessError
from gossipgan.mixing.placement import Parcel
from gossipgan.mixing.sockets import TOKEN_BYTES, Sockets, listen

HOST = "127.0.0.1"
TOKEN = bytes(range(TOKEN_BYTES))
GREETING = 8 + TOKEN_BYTES + 4


class Run:
    """Processes of one run, all in this one; and places for more that a test plays itself."""

    def __init__(self, processes: int, timeout: float = 20.0, played: tuple[int, ...] = ()) -> None:
        self.listeners = [listen(HOST) for _ in range(processes)]
        self.addresses = [listener.getsockname() for listener in self.listeners]
        self.sockets = {
            rank: Sockets(rank, listener, self.addresses, TOKEN, timeout)
            for rank, listener in enumerate(self.listeners)
            if rank not in played
        }

    def close(self) -> None:
        for one in self.sockets.values():
            one.close()
        for listener in self.listeners:
            listener.close()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *what: object) -> None:
        self.close()

    def exchange(self, sends: dict[int, list[Parcel]], receives: dict[int, list[Parcel]]) -> None:
        transfers = [one.start(sends.get(rank, []), receives.get(rank, [])) for rank, one in self.sockets.items()]
        for transfer in transfers:
            transfer.wait()


def _noise(count: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 256, (count,), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


def _greeting(rank: int, token: bytes = TOKEN) -> bytes:
    return struct.pack(f"<8s{TOKEN_BYTES}sI", b"gossip 1", token, rank)


def _read(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count and (more := connection.recv(count - len(read))):
        read += more
    return read


@pytest.mark.parametrize(
    "size", [0, 1, 2, 3, 255, 4096, UNASKED - 1, UNASKED, UNASKED + 1, 2 * UNASKED + 1, 1_000_003, 4_000_000]
)
def test_bytes_arrive_exactly_between_all_processes_round_after_round(size: int) -> None:
    processes = 4
    with Run(processes) as run:
        for number in range(3):
            sent = {rank: _noise(size, 10 * number + rank) for rank in range(processes)}
            got = {
                (at, sender): torch.full((size,), 7, dtype=torch.uint8)
                for at in range(processes)
                for sender in range(processes)
                if at != sender
            }
            run.exchange(
                {rank: [(to, rank, sent[rank]) for to in range(processes) if to != rank] for rank in sent},
                {at: [(sender, sender, got[at, sender]) for sender in sent if sender != at] for at in range(processes)},
            )
            for (_, sender), tensor in got.items():
                assert torch.equal(tensor, sent[sender])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_of_any_type_and_shape_are_filled(dtype: torch.dtype) -> None:
    sent = _noise(24).view(2, 3, 4).to(dtype)
    got = torch.zeros_like(sent)
    with Run(2) as run:
        run.exchange({0: [(1, 0, sent)]}, {1: [(0, 0, got)]})
    assert torch.equal(got, sent)


def test_messages_of_several_learners_of_a_process_keep_their_order() -> None:
    sent = [_noise(100_000 + learner, learner) for learner in range(5)]
    got = [torch.zeros_like(one) for one in sent]
    with Run(2) as run:
        run.exchange(
            {0: [(1, learner, one) for learner, one in enumerate(sent)]},
            {1: [(0, learner, one) for learner, one in enumerate(got)]},
        )
    for one, other in zip(sent, got, strict=True):
        assert torch.equal(one, other)


def test_exchanges_may_overlap_and_a_receiver_may_be_late() -> None:
    first, second = _noise(700_001, 1), _noise(300_001, 2)
    got = [torch.zeros_like(first), torch.zeros_like(second)]
    with Run(2) as run:
        sending = [run.sockets[0].start([(1, 0, one)], []) for one in (first, second)]
        time.sleep(0.2)
        receiving = [run.sockets[1].start([], [(0, 0, one)]) for one in got]
        for transfer in (*reversed(receiving), *reversed(sending)):
            transfer.wait()
    assert torch.equal(got[0], first)
    assert torch.equal(got[1], second)


def test_no_more_than_the_first_bytes_of_a_message_follow_before_it_is_asked_for() -> None:
    message = _noise(1_000_000)
    with Run(2, played=(1,)) as run:
        transfer = run.sockets[0].start([(1, 0, message)], [])
        connection, _ = run.listeners[1].accept()
        connection.settimeout(10)
        assert _read(connection, GREETING) == _greeting(0)
        assert _read(connection, HEADER.size) == HEADER.pack(0, 0, 1_000_000)
        assert _read(connection, UNASKED) == bytes(message[:UNASKED].numpy())
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(10)
        connection.send(b"+")
        assert _read(connection, 1_000_000 - UNASKED) == bytes(message[UNASKED:].numpy())
        transfer.wait()
        connection.close()


@pytest.mark.parametrize(
    "greeting",
    [
        _greeting(1, secrets.token_bytes(TOKEN_BYTES)),
        _greeting(1)[:-1],
        _greeting(0),
        _greeting(2),
        b"GET / HTTP/1.1\r\n\r\n" * 10,
        b"",
    ],
    ids=["another token", "cut short", "one's own number", "no such number", "another protocol", "nothing"],
)
def test_a_stranger_is_refused_and_what_it_sends_goes_nowhere(greeting: bytes) -> None:
    got = torch.zeros(10, dtype=torch.uint8)
    with Run(2) as run, socket.create_connection(run.addresses[0]) as stranger:
        transfer = run.sockets[0].start([], [(1, 1, got)])
        stranger.settimeout(10)
        more = HEADER.pack(0, 1, 10) if len(greeting) == GREETING else b""
        stranger.sendall(greeting + more + b"x" * 10 * bool(greeting))
        with suppress(OSError):  # it is shown out, and may hear of that at any of these
            stranger.shutdown(socket.SHUT_WR)
            assert stranger.recv(1) == b""
        run.sockets[1].start([(0, 1, torch.ones(10, dtype=torch.uint8))], []).wait()
        transfer.wait()
    assert torch.equal(got, torch.ones(10, dtype=torch.uint8))


def test_a_stranger_that_says_nothing_is_shown_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_GREETING_SECONDS", 0.1)
    with Run(2) as run, socket.create_connection(run.addresses[0]) as stranger:
        stranger.settimeout(10)
        assert stranger.recv(1) == b""


def test_a_process_has_one_connection_to_another() -> None:
    with Run(2) as run:
        run.exchange({1: [(0, 1, _noise(10))]}, {0: [(1, 1, torch.zeros(10, dtype=torch.uint8))]})
        with socket.create_connection(run.addresses[0]) as second:
            second.settimeout(10)
            second.sendall(_greeting(1))
            assert second.recv(1) == b""


def test_what_was_sent_arrives_though_the_sender_has_ended() -> None:
    sent = _noise(3_000_000)
    got = torch.zeros_like(sent)
    with Run(2) as run:
        receiving = run.sockets[1].start([], [(0, 0, got)])
        run.sockets[0].start([(1, 0, sent)], []).wait()
        run.sockets[0].close()
        receiving.wait()
    assert torch.equal(got, sent)


def test_a_process_that_is_silent_is_lost_in_one_line() -> None:
    with Run(3, timeout=0.5, played=(2,)) as run:
        with pytest.raises(LostProcessError) as lost:
            run.sockets[0].start([], [(2, 2, torch.zeros(10))]).wait()
        # It stays lost, and the others are not.
        with pytest.raises(LostProcessError):
            run.sockets[0].start([], [(2, 2, torch.zeros(10))]).wait()
        sending = run.sockets[0].start([(1, 0, torch.ones(3))], [])
        got = torch.zeros(3)
        for _ in range(2):
            run.sockets[1].start([], [])
        run.sockets[1].start([], [(0, 0, got)]).wait()
        sending.wait()
    assert str(lost.value) == "process 0: process 2 has been silent for 0.5 s (mixing.timeout)"
    assert lost.value.process == 2
    assert torch.equal(got, torch.ones(3))


def test_a_process_that_is_slow_is_waited_for() -> None:
    content = bytes(_noise(400_000).numpy())
    got = torch.zeros(400_000, dtype=torch.uint8)
    with Run(2, timeout=0.6, played=(1,)) as run, socket.create_connection(run.addresses[0]) as connection:
        transfer = run.sockets[0].start([], [(1, 1, got)])
        connection.sendall(_greeting(1) + HEADER.pack(0, 1, len(content)))
        for start in range(0, len(content), 100_000):
            connection.sendall(content[start : start + 100_000])
            time.sleep(0.3)
        transfer.wait()
    assert bytes(got.numpy()) == content


def test_a_process_that_sends_something_else_is_named() -> None:
    with Run(2, played=(1,)) as run, socket.create_connection(run.addresses[0]) as connection:
        transfer = run.sockets[0].start([], [(1, 1, torch.zeros(10, dtype=torch.uint8))])
        connection.sendall(_greeting(1) + HEADER.pack(3, 1, 20) + bytes(20))
        with pytest.raises(UserError) as refused:
            transfer.wait()
    assert str(refused.value) == (
        "process 0: process 1 sends exchange 3, learner 1, 20 bytes where exchange 0, learner 1, 10 bytes are due; "
        "start all processes with the same command, on the same version"
    )


def test_nothing_waits_for_sockets_that_are_closed() -> None:
    run = Run(2)
    under_way = run.sockets[0].start([], [(1, 1, torch.zeros(4))])
    run.close()
    for transfer in (under_way, run.sockets[0].start([], [(1, 1, torch.zeros(4))])):
        with pytest.raises(RuntimeError, match="closed"):
            transfer.wait()


_PEER = """
import socket, sys
import torch
from gossipgan.mixing.sockets import Sockets
descriptor, port, token = int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3])
listener = socket.socket(fileno=descriptor)
mine = Sockets(1, listener, [("127.0.0.1", port), listener.getsockname()], token, 60.0)
got = torch.zeros(2_000_000, dtype=torch.uint8)
for _ in range(3):
    mine.start([(0, 1, got)], [(0, 0, got.clone())]).wait()
print("ready", flush=True)
mine.start([], [(0, 0, got)]).wait()
"""


@pytest.fixture
def peer() -> Iterator[tuple[Sockets, "subprocess.Popen[str]"]]:
    """Process 0's sockets, and process 1, which is another process, after three exchanges with it."""
    listeners = [listen(HOST) for _ in range(2)]
    addresses = [listener.getsockname() for listener in listeners]
    process = subprocess.Popen(
        [sys.executable, "-c", _PEER, str(listeners[1].fileno()), str(addresses[0][1]), TOKEN.hex()],
        pass_fds=(listeners[1].fileno(),),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    listeners[1].close()
    mine = Sockets(0, listeners[0], addresses, TOKEN, 60.0)
    content = torch.ones(2_000_000, dtype=torch.uint8)
    for _ in range(3):
        got = torch.full_like(content, 5)
        mine.start([(1, 0, content)], [(1, 1, got)]).wait()
        assert not got.any()
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield mine, process
    mine.close()
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("waits", ["to receive", "to send"])
def test_the_death_of_a_process_is_seen_at_once(peer: tuple[Sockets, "subprocess.Popen[str]"], waits: str) -> None:
    mine, process = peer
    tensor = torch.zeros(50_000_000, dtype=torch.uint8)
    if waits == "to send":
        process.send_signal(signal.SIGSTOP)
        transfer = mine.start([(1, 0, tensor)], [])
    else:
        transfer = mine.start([], [(1, 1, tensor)])
    time.sleep(0.2)
    began = time.monotonic()
    process.kill()
    with pytest.raises(LostProcessError) as lost:
        transfer.wait()
    assert time.monotonic() - began < 10
    assert lost.value.process == 1
    assert str(lost.value).startswith("process 0: process 1 has ended (connection ")
    assert "\n" not in str(lost.value)


def test_a_process_that_has_ended_before_it_connected_is_seen_at_once() -> None:
    run = Run(2, timeout=60.0, played=(1,))
    run.listeners[1].close()
    with run, pytest.raises(LostProcessError, match="process 0: process 1 has ended"):
        run.sockets[0].start([], [(1, 1, torch.zeros(4))]).wait()
