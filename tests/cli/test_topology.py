"""``gossipgan topology``: what it prints, draws and refuses."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Gossipgan = Callable[..., Any]


def test_it_prints_contraction_and_costs_beside_the_centralized_ways(gossipgan: Gossipgan) -> None:
    shown = gossipgan("topology", "ring", "-n", "16", "--rounds", "3")

    assert (shown.status, shown.err) == (0, "")
    for line in (
        "ring, 16 learners, uniform weights",
        "neighbours            2",
        "rho                   0.9493",
        "spectral gap          0.0507",
        # .94925^3
        "after 3 rounds        0.8554 = rho^3 of the disagreement is left at most",
        "until 0.1 is left     45 rounds",
        "a step of 575,000 float32 parameters (2.3 MB), links of 100 Mbit/s each way, 1 ms:",
    ):
        assert line in shown.out
    costs = {line[:24].strip(): line[24:].split() for line in shown.out.splitlines()[-4:-1]}
    # Three rounds of 1 + 2 x 184 ms; 30 parts of 11.5 + 1 ms; twice 1 + 15 x 184 ms.
    assert costs["gossip, 3 rounds"] == ["6", "13.8", "MB", "221", "MB", "1107", "ms"]
    assert costs["all-reduce"] == ["30", "4.31", "MB", "69", "MB", "375", "ms"]
    assert costs["server"] == ["15", "34.5", "MB", "69", "MB", "5522", "ms"]


def test_json_holds_the_same(gossipgan: Gossipgan) -> None:
    shown = gossipgan(
        "topology", "exponential", "-n", "16", "--rounds", "2", "--accuracy", ".01", "--parameters", "1000",
        "--bandwidth", "1gbit", "--latency", "0", "--json",
    )  # fmt: skip
    content = json.loads(shown.out)

    assert (shown.status, shown.err) == (0, "")
    assert (content["topology"], content["learners"], content["weights"]) == ("exponential", 16, "uniform")
    assert (content["period"], content["symmetric"]) == (1, False)
    assert content["rho"] == pytest.approx(0.6)
    assert content["spectral_gap"] == pytest.approx(0.4)
    assert content["contraction"] == pytest.approx(0.36)
    # .6^9 = .0101, .6^10 = .006
    assert content["rounds_for_accuracy"] == 10
    assert content["degree"] == {"least": 4, "mean": 4.0, "most": 4}
    assert content["model_bytes"] == 4000
    assert content["cost"]["gossip"]["bytes"] == 2 * 4 * 4000
    assert content["cost"]["gossip"]["seconds"] == pytest.approx(2 * 4 * 32e-6)
    assert set(content["cost"]) == {"gossip", "all_reduce", "server"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("one-peer-exponential", "-n", "8", "--rounds", "3"), "changing with period 3"),
        (("random-matching", "-n", "9"), "drawn anew each round"),
        (("random-matching", "-n", "9"), "0.7071, as root mean square over draws"),
        (("star", "-n", "9"), "1 to 8, 1.78 on average"),
        (("star", "-n", "9"), "metropolis weights"),
        (("star", "-n", "9", "--weights", "max-degree"), "max-degree weights"),
        (("ring", "-n", "1"), "ring, 1 learner, "),
        (("ring", "-n", "2"), "until 0.1 is left     1 round\n"),
        (("ring", "-n", "1000"), "0.9999868406"),
        (("random-regular", "-n", "20", "--degree", "3", "--seed", "4"), "neighbours            3"),
        (("erdos-renyi", "-n", "20", "--probability", "1"), "neighbours            19"),
    ],
)
def test_it_knows_other_graphs(gossipgan: Gossipgan, arguments: tuple[str, ...], says: str) -> None:
    shown = gossipgan("topology", *arguments)

    assert (shown.status, shown.err) == (0, "")
    assert says in shown.out


def test_a_seed_decides_a_random_graph(gossipgan: Gossipgan) -> None:
    one, same, other = (
        gossipgan("topology", "erdos-renyi", "-n", "20", "--seed", seed, "--json").out for seed in ("1", "1", "2")
    )

    assert one == same != other


def test_a_file_says_how_many_learners_there_are(gossipgan: Gossipgan, tmp_path: Path) -> None:
    edges, matrix = tmp_path / "edges.txt", tmp_path / "w.csv"
    edges.write_text("0 1\n1 2\n")
    matrix.write_text("1/2,1/2\n1/2,1/2\n")

    assert "custom, 3 learners, metropolis weights" in gossipgan("topology", "custom", "--file", str(edges)).out
    assert "custom, 2 learners, given weights" in gossipgan("topology", "custom", "--file", str(matrix)).out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ring",), "-n: how many learners?"),
        (("custom",), "-n: how many learners?"),
        (("custom", "-n", "4"), "custom: needs a file of edges or weights"),
        (("custom", "--file", "absent"), "absent: cannot be read"),
        (("rign", "-n", "4"), "topology 'rign': unknown; allowed are ring, "),
        (("ring", "-n", "0"), "ring: 0 learners: must be from 1 to 10,000"),
        (("ring", "-n", "4", "--degree", "3"), "ring: has no degree"),
        (("star", "-n", "4", "--weights", "uniform"), "star: uniform weights are doubly stochastic only where"),
        (("ring", "-n", "4", "--rounds", "0"), "rounds 0: must be from 1 to 1,000,000"),
        (("ring", "-n", "4", "--parameters", "0"), "parameters 0: must be from 1 to 1,000,000,000,000"),
        (("ring", "-n", "4", "--accuracy", "0"), "accuracy 0: must be at least 1e-12 and below 1"),
        (("ring", "-n", "4", "--accuracy", "nan"), "accuracy nan: must be"),
        (("ring", "-n", "4", "--bandwidth", "fast"), "--bandwidth fast: must be a number and one of bit,"),
        (("ring", "-n", "4", "--latency", "1"), "--latency 1: must be a number and one of us,"),
        (("ring", "-n", "4", "--plot", "ring.pdf"), "--plot ring.pdf: must end in .png"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(gossipgan: Gossipgan, arguments: tuple[str, ...], says: str) -> None:
    refused = gossipgan("topology", *arguments)

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"gossipgan: error: {says}")
    assert refused.err.count("\n") == 1


def test_the_picture_is_a_png(gossipgan: Gossipgan, tmp_path: Path) -> None:
    path = tmp_path / "pictures" / "ring.png"

    shown = gossipgan("topology", "ring", "-n", "16", "--plot", str(path))

    assert (shown.status, shown.err) == (0, "")
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 600


def test_a_picture_that_cannot_be_written_is_one_line(gossipgan: Gossipgan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    refused = gossipgan("topology", "ring", "-n", "4", "--plot", str(tmp_path / "file" / "out.png"))

    assert refused.status == 2
    assert "cannot be written" in refused.err
    assert refused.err.count("\n") == 1


def test_it_does_not_wait_for_torch() -> None:
    code = """
import sys
from gossipgan.cli import main
sys.argv = ["gossipgan", "topology", "ring", "-n", "8"]
try:
    main()
except SystemExit as end:
    sys.exit(end.code or ", ".join({"torch", "mlflow", "matplotlib"} & set(sys.modules)) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
