"""``gossipgan game``: what it prints, draws and refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gossipgan.cli import report_mistakes
from gossipgan.cli.game import app

Game = Callable[..., tuple[int, str, str]]


@pytest.fixture
def game(capsys: pytest.CaptureFixture[str]) -> Game:
    """Runs ``gossipgan game`` with the given arguments; gives status, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end, report_mistakes():
            app(list(arguments), prog_name="gossipgan game")
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return run


def test_it_prints_distances_and_contraction_measured_beside_predicted(game: Game) -> None:
    status, out, err = game("bilinear", "--method", "la-gda", "--eta", ".3", "--k", "6", "--alpha", ".5")

    assert (status, err) == (0, "")
    assert "contraction of a cycle of 6 iterations: measured 0.7448, predicted 0.7448" in out
    first, last = out.splitlines()[1], out.splitlines()[-3]
    assert first.split()[:2] == ["0", "0"]
    assert last.split()[:2] == ["300", "300"]


def test_json_holds_both_distances_of_every_seed(game: Game) -> None:
    status, out, _ = game("bilinear", "--method", "eg", "--passes", "120", "--dim", "9", "--seeds", "3", "--json")

    content: dict[str, Any] = json.loads(out)
    assert status == 0
    assert content["iterations"] == 60
    assert content["passes"][-1] == 120.0
    assert [len(point) for point in (content["distance"][-1], content["sum_of_norms"][-1])] == [3, 3]
    ratio = content["distance"][-1][0] / content["distance"][0][0]
    assert ratio == pytest.approx(7.7037e-2, rel=1e-3)
    # |1 + .3 i - .09|
    assert content["contraction"]["predicted"] == pytest.approx(0.9181**0.5, rel=1e-12)


def test_nested_lookahead_is_reached_by_its_two_options(game: Game) -> None:
    _, out, _ = game("bilinear", "--method", "la-gda", "--alpha", ".8", "--super-k", "18", "--super-alpha", ".5")

    assert "contraction of a cycle of 18 iterations: measured 0.7108, predicted 0.7108" in out


def test_learners_are_printed_with_their_consensus_and_drawn(game: Game, tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    options = ("--method", "dposg", "--learners", "8", "--topology", "ring", "--rounds", "2", "--start", "normal")

    _, out, err = game("bilinear", *options, "--plot", str(path))
    _, as_json, _ = game("bilinear", *options, "--json")

    assert err == ""
    assert "consensus distance" in out.splitlines()[0]
    assert "8 learners, ring, 2 rounds of gossip" in out
    assert "contraction of an iteration: measured 0.9487, predicted 0.9487" in out
    assert path.stat().st_size > 10_000
    content = json.loads(as_json)
    assert (content["learners"], content["topology"], content["rounds"]) == (8, "ring", 2)
    assert len(content["consensus"]) == len(content["distance"])


@pytest.mark.parametrize(
    "more",
    [(), ("--method", "gda", "--eta", "5", "--passes", "900"), ("--batch", "3", "--seeds", "1"), ("--passes", "1")],
)
def test_the_picture_is_a_png(game: Game, tmp_path: Path, more: tuple[str, ...]) -> None:
    path = tmp_path / "pictures" / "out.png"

    status, _, err = game("bilinear", "--dim", "9", "--passes", "60", *more, "--plot", str(path))

    assert (status, err) == (0, "")
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert picture.width > 900


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--method", "extra"), "--method extra: unknown; allowed are gda,"),
        (("--batch", "some"), "--batch some: must be full or a whole number"),
        (("--plot", "out.pdf"), "--plot out.pdf: must end in .png"),
        (("--method", "gda", "--alpha", ".5"), "--alpha: gda has no Lookahead; use --method la-gda"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(game: Game, arguments: tuple[str, ...], says: str) -> None:
    status, out, err = game("bilinear", *arguments)

    assert (status, out) == (2, "")
    assert err.startswith(f"gossipgan: error: {says}")
    assert err.count("\n") == 1


def test_a_picture_that_cannot_be_written_is_one_line(game: Game, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    status, _, err = game("bilinear", "--dim", "3", "--passes", "9", "--plot", str(tmp_path / "file" / "out.png"))

    assert status == 2
    assert "cannot be written" in err
    assert err.count("\n") == 1
