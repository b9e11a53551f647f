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
    first, last = out.splitlines()[1], out.splitlines()[-4]
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


def test_the_noisy_game_prints_where_the_noise_keeps_the_players(game: Game) -> None:
    status, out, err = game(
        "noisy", "--method", "eg", "--eta", ".5", "--noise", ".2", "--passes", "400", "--seeds", "3"
    )

    assert (status, err) == (0, "")
    assert "noisy bilinear game, d = 1, noise 0.2" in out
    # |1 + i / 2 - 1 / 4|, and 2 * .04 * 1.25 / .75.
    assert "contraction of an iteration, of the mean: predicted 0.9014" in out
    assert out.splitlines()[-1].startswith("mean squared distance in the long run: measured 0.1")
    assert out.splitlines()[-1].endswith(", predicted 0.1333")


def test_a_game_that_grows_says_so(game: Game) -> None:
    _, out, _ = game("noisy", "--method", "gda", "--passes", "40", "--seeds", "2")

    assert out.splitlines()[-1].endswith(", predicted inf")


def test_the_cubic_game_prints_contraction_near_the_solution_and_the_cycle(game: Game) -> None:
    status, out, err = game("cubic", "--method", "la-gda", "--k", "6", "--epsilon", ".02", "--passes", "600")

    assert (status, err) == (0, "")
    measured, predicted = (
        out.splitlines()[-2]
        .removeprefix("contraction of a cycle of 6 iterations, near the solution: measured ")
        .split(", predicted ")
    )
    assert measured == predicted
    assert out.splitlines()[-1].endswith(", predicted 1.1547")


def test_every_game_defaults_to_a_length_and_seeds_of_its_own(game: Game) -> None:
    contents = {}
    for name in ("bilinear", "noisy", "cubic"):
        _, out, _ = game(name, "--json")
        contents[name] = json.loads(out)

    assert {name: content["iterations"] for name, content in contents.items()} == {
        "bilinear": 300,
        "noisy": 3000,
        "cubic": 3000,
    }
    assert {name: len(content["seeds"]) for name, content in contents.items()} == {
        "bilinear": 5,
        "noisy": 100,
        "cubic": 5,
    }


def test_quirks_are_reached_and_named(game: Game) -> None:
    options = ("--method", "eg", "--dim", "9", "--batch", "3", "--passes", "300", "--start", "small")
    _, out, _ = game("bilinear", *options, "--quirk", "batch-is-a-pass", "--quirk", "fresh-batches", "--json")
    _, notebook, _ = game("bilinear", *options, "--quirk", "notebook", "--json")

    assert json.loads(out)["quirks"] == ["batch-is-a-pass", "fresh-batches"]
    assert json.loads(out)["iterations"] == 150
    assert json.loads(notebook)["iterations"] == 100


@pytest.mark.parametrize(
    ("arguments", "panels"),
    [
        (("bilinear", "--dim", "9"), 1),
        (("bilinear", "--dim", "9", "--method", "gda", "--eta", "5", "--passes", "900"), 1),
        (("bilinear", "--dim", "9", "--batch", "3", "--seeds", "1"), 1),
        (("bilinear", "--dim", "9", "--passes", "1"), 1),
        (("bilinear", "--dim", "1", "--start", "normal"), 2),
        (("bilinear", "--dim", "1", "--method", "gda", "--eta", "5", "--passes", "900"), 2),
        (("noisy",), 2),
        (("noisy", "--method", "gda", "--start", "zero", "--seeds", "1"), 2),
        (("noisy", "--dim", "2"), 1),
        (("cubic", "--method", "alt-gda"), 2),
        (("cubic", "--form", "forsaken", "--eta", "1", "--seeds", "1"), 2),
    ],
)
@pytest.mark.filterwarnings("error")
def test_the_picture_is_a_png_with_a_panel_more_for_the_plane(
    game: Game, tmp_path: Path, arguments: tuple[str, ...], panels: int
) -> None:
    path = tmp_path / "pictures" / "out.png"

    status, _, err = game(arguments[0], "--passes", "60", *arguments[1:], "--plot", str(path))

    assert (status, err) == (0, "")
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert picture.width == {1: 1024, 2: 1792}[panels]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("bilinear", "--method", "extra"), "--method extra: unknown; allowed are gda,"),
        (("bilinear", "--batch", "some"), "--batch some: must be full or a whole number"),
        (("bilinear", "--plot", "out.pdf"), "--plot out.pdf: must end in .png"),
        (("bilinear", "--method", "gda", "--alpha", ".5"), "--alpha: gda has no Lookahead; use --method la-gda"),
        (("bilinear", "--quirk", "notebok"), "--quirk notebok: unknown; allowed are batch-is-a-pass,"),
        (("noisy", "--method", "dposg"), "--method dposg: unknown; allowed are gda,"),
        (("noisy", "--noise", "0"), "--noise 0: must be above 0"),
        (("cubic", "--form", "x"), "--form x: unknown; allowed are almost-bilinear, forsaken"),
        (("cubic", "--plot", "out"), "--plot out: must end in .png"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(game: Game, arguments: tuple[str, ...], says: str) -> None:
    status, out, err = game(*arguments)

    assert (status, out) == (2, "")
    assert err.startswith(f"gossipgan: error: {says}")
    assert err.count("\n") == 1


def test_a_picture_that_cannot_be_written_is_one_line(game: Game, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    status, _, err = game("bilinear", "--dim", "3", "--passes", "9", "--plot", str(tmp_path / "file" / "out.png"))

    assert status == 2
    assert "cannot be written" in err
    assert err.count("\n") == 1
