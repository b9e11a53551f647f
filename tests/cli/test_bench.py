"""``gossipgan bench network``: mistakes in one line, and the model where nothing can be measured."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Gossipgan = Callable[..., Any]


@pytest.fixture
def _no_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)


@pytest.mark.usefixtures("_no_root")
def test_without_root_the_model_answers_alone_and_says_so(gossipgan: Gossipgan) -> None:
    shown = gossipgan("bench", "network")

    assert shown.status == 0
    assert shown.err == (
        "not measured, by the model alone: needs root: put sudo, or unshare --map-root-user, before the command\n"
    )
    for line in (
        "8 learners of 575,000 float32 parameters, links of 100 Mbit/s each way, 0 ms; milliseconds a step",
        # 2.3 MB to each of two neighbours, to one, and to a server by seven learners.
        "gossip, ring, float32                          4.6 MB        368.0        368.0",
        "gossip, one-peer-exponential, bf16            1.15 MB         92.0         92.0",
        "server, float32                               16.1 MB        1,840        2,576",
    ):
        assert line in shown.out
    assert "measured" not in shown.out


@pytest.mark.usefixtures("_no_root")
def test_json_has_the_model_up_to_ten_thousand_learners(gossipgan: Gossipgan) -> None:
    shown = gossipgan("bench", "network", "--json", "--latency", "2ms", "--learners", "16", "--parameters", "1000")
    content = json.loads(shown.out)

    assert shown.status == 0
    assert (content["measured"], content["learners"]) == (False, 16)
    assert content["obstacle"].startswith("needs root")
    assert content["model"] == {"latency": 0.002, "bandwidth": 1e8, "contention": 0.0}
    assert len(content["schemes"]) == 15
    assert all(scheme["measured"] is None and scheme["fitted"] is None for scheme in content["schemes"])
    ring = next(one for one in content["schemes"] if (one["topology"], one["wire"]) == ("ring", "float32"))
    assert ring["bytes"] == 8_000
    assert ring["limit"] == pytest.approx(640e-6)
    assert ring["modelled"] == pytest.approx(640e-6 + 0.002)
    assert list(content["predictions"][0]["seconds"]) == ["8", "32", "128", "512", "2048", "10000"]


def test_more_learners_than_fit_on_a_machine_are_modelled(gossipgan: Gossipgan) -> None:
    shown = gossipgan("bench", "network", "-n", "10000")

    assert shown.status == 0
    assert shown.err == "not measured, by the model alone: at most 64 hosts are built on one machine\n"


@pytest.mark.usefixtures("_no_root")
def test_the_picture_is_a_png(gossipgan: Gossipgan, tmp_path: Path) -> None:
    path = tmp_path / "pictures" / "network.png"

    assert gossipgan("bench", "network", "--plot", str(path)).status == 0
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 600


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--learners", "1"), "--learners 1: must be from 2 to 10,000"),
        (("--learners", "10001"), "--learners 10001: must be from 2 to 10,000"),
        (("--parameters", "0"), "--parameters 0: must be from 1 to 1,000,000,000"),
        (("--steps", "0"), "--steps 0: must be from 1 to 10,000"),
        (("--bandwidth", "fast"), "--bandwidth fast: must be a number and one of bit,"),
        (("--latency", "1"), "--latency 1: must be a number and one of us,"),
        (("--plot", "network.pdf"), "--plot network.pdf: must end in .png"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(gossipgan: Gossipgan, arguments: tuple[str, ...], says: str) -> None:
    refused = gossipgan("bench", "network", *arguments)

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"gossipgan: error: {says}")
    assert refused.err.count("\n") == 1


@pytest.mark.usefixtures("_no_root")
def test_a_picture_that_cannot_be_written_is_one_line(gossipgan: Gossipgan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    refused = gossipgan("bench", "network", "--plot", str(tmp_path / "file" / "out.png"))

    assert refused.status == 2
    assert "cannot be written" in refused.err.splitlines()[-1]


def test_the_command_itself_does_not_wait_for_torch() -> None:
    code = """
import sys
from gossipgan.cli import main
sys.argv = ["gossipgan", "bench", "network", "-n", "100"]
try:
    main()
except SystemExit as end:
    sys.exit(end.code or ", ".join({"torch", "mlflow", "matplotlib"} & set(sys.modules)) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
