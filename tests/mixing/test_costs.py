"""Messages, bytes and times, against sums worked out by hand."""

import pytest

from gossipgan.errors import UserError
from gossipgan.mixing.costs import Degrees, all_reduce, degrees, gossip, server
from gossipgan.mixing.links import Link, parse_bandwidth, parse_latency
from gossipgan.mixing.topologies import build_schedule

SIZE = 2_300_000
#: 100 Mbit/s: a model of 2.3 MB takes 184 ms.
LINK = Link(bandwidth=100e6, latency=0.001)


@pytest.mark.parametrize(
    ("topology", "learners", "expected"),
    [
        ("ring", 8, Degrees(2, 2.0, 2)),
        ("ring", 2, Degrees(1, 1.0, 1)),
        ("ring", 1, Degrees(0, 0.0, 0)),
        ("star", 8, Degrees(1, 14 / 8, 7)),
        ("exponential", 8, Degrees(3, 3.0, 3)),
        ("one-peer-exponential", 12, Degrees(1, 1.0, 1)),
        ("random-matching", 9, Degrees(0, 8 / 9, 1)),
        ("torus", 16, Degrees(4, 4.0, 4)),
    ],
)
def test_degrees_count_neighbours_without_oneself(topology: str, learners: int, expected: Degrees) -> None:
    assert degrees(build_schedule(topology, learners)) == expected


@pytest.mark.parametrize(
    ("topology", "rounds", "messages", "total", "seconds"),
    [
        ("one-peer-exponential", 1, 1, 8, 0.185),
        ("random-matching", 1, 1, 8, 0.185),
        ("ring", 1, 2, 16, 0.369),
        ("ring", 3, 6, 48, 3 * 0.369),
        ("exponential", 1, 3, 24, 0.001 + 3 * 0.184),
        ("star", 1, 7, 14, 0.001 + 7 * 0.184),
        ("complete", 2, 14, 2 * 56, 2 * (0.001 + 7 * 0.184)),
    ],
)
def test_gossip_costs_its_busiest_link(topology: str, rounds: int, messages: int, total: int, seconds: float) -> None:
    cost = gossip(build_schedule(topology, 8), rounds, SIZE, LINK)

    assert cost.messages == messages
    assert cost.bytes == messages * SIZE
    assert cost.total_bytes == total * SIZE
    assert cost.seconds == pytest.approx(seconds, rel=1e-12)


def test_all_reduce_sends_2_n_minus_1_parts_of_n() -> None:
    cost = all_reduce(8, SIZE, LINK)

    assert cost.messages == 14
    assert cost.bytes == pytest.approx(2 * 7 / 8 * SIZE)
    assert cost.total_bytes == pytest.approx(8 * cost.bytes)
    # Near to the 346 ms that it took over such links, and above the bytes alone, 322 ms.
    assert cost.seconds == pytest.approx(14 * 0.001 + 0.322)


def test_a_server_takes_everybody_s_bytes_and_gives_as_many() -> None:
    cost = server(8, SIZE, LINK)

    assert (cost.messages, cost.bytes, cost.total_bytes) == (7, 7 * SIZE, 14 * SIZE)
    assert cost.seconds == pytest.approx(2 * (0.001 + 7 * 0.184))


def test_one_learner_sends_nothing() -> None:
    for cost in (gossip(build_schedule("ring", 1), 3, SIZE, LINK), all_reduce(1, SIZE, LINK), server(1, SIZE, LINK)):
        assert (cost.messages, cost.bytes, cost.total_bytes, cost.seconds) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("text", "bits"), [("100mbit", 1e8), ("1gbit", 1e9), ("1.5 Mbit", 1.5e6), (".5kbit", 500), ("8bit", 8)]
)
def test_a_bandwidth_is_in_bits(text: str, bits: float) -> None:
    assert parse_bandwidth(text, "--bandwidth") == pytest.approx(bits)


@pytest.mark.parametrize(("text", "seconds"), [("1ms", 1e-3), ("250us", 2.5e-4), ("0", 0), ("2s", 2), ("0ms", 0)])
def test_a_latency_is_in_seconds(text: str, seconds: float) -> None:
    assert parse_latency(text, "--latency") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "fast", "100", "100mbps", "-1mbit", "1e3mbit", "nanmbit", "100 m bit"])
def test_other_words_for_a_bandwidth_are_one_line(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_bandwidth(text, "--bandwidth")

    assert str(refused.value) == (
        f"--bandwidth {text}: must be a number and one of bit, kbit, mbit, gbit, such as 100mbit"
    )


def test_bounds_of_links_are_told() -> None:
    with pytest.raises(UserError, match=r"--bandwidth 0mbit: must be from 1 to 1e\+15 bit"):
        parse_bandwidth("0mbit", "--bandwidth")
    with pytest.raises(UserError, match=r"must be from 1 to 1e\+15 bit"):
        parse_bandwidth("9" * 400 + "gbit", "--bandwidth")
    with pytest.raises(UserError, match="--latency 2h: must be a number and one of us, ms, s, such as 1ms"):
        parse_latency("2h", "--latency")
    with pytest.raises(UserError, match="--latency 3601s: must be from 0 to 3600 s"):
        parse_latency("3601s", "--latency")
