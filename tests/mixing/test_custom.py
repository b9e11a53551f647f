"""Graphs and matrices from files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossipgan.errors import UserError
from gossipgan.mixing.topologies import build_schedule, learners_in

RING = np.array([[0.5, 0.25, 0, 0.25], [0.25, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.25], [0.25, 0, 0.25, 0.5]])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "graph.txt"


def test_a_list_of_edges_is_a_graph(file: Path) -> None:
    file.write_text("# a ring\n0 1\n1 2\n\n2,3  # and back\n3 0\n0 3\n")

    assert learners_in(file) == 4
    np.testing.assert_array_equal(
        build_schedule("custom", 4, file=file).at(0), build_schedule("ring", 4, weights="uniform").at(0)
    )


@pytest.mark.parametrize("weights", ["metropolis", "max-degree"])
def test_edges_get_the_weights_asked_for(file: Path, weights: str) -> None:
    file.write_text("0 1\n0 2\n0 3\n")

    np.testing.assert_array_equal(
        build_schedule("custom", 4, file=file, weights=weights).at(0),
        build_schedule("star", 4, weights=weights).at(0),
    )


@pytest.mark.parametrize(
    "text",
    [
        ".5 .25 0 .25\n.25 .5 .25 0\n0 .25 .5 .25\n.25 0 .25 .5\n",
        "0.5, 0.25, 0, 0.25\n0.25, 0.5, 0.25, 0\n0, 0.25, 0.5, 0.25\n0.25, 0, 0.25, 0.5",
        "\ufeff1/2,1/4,0,1/4\n1/4,1/2,1/4,0\n# half way\n0,1/4,1/2,1/4\n1/4,0,1/4,5e-1\n",
    ],
)
def test_a_matrix_is_read_from_text(file: Path, text: str) -> None:
    file.write_text(text)

    schedule = build_schedule("custom", 4, file=file)

    assert learners_in(file) == 4
    assert schedule.weights == "given"
    np.testing.assert_array_equal(schedule.at(0), RING)


def test_thirds_are_doubly_stochastic_as_fractions(file: Path) -> None:
    file.write_text("\n".join(["1/3 1/3 1/3"] * 3))

    assert build_schedule("custom", 3, file=file, weights="given").at(0).tolist() == np.full((3, 3), 1 / 3).tolist()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_matrix_is_read_from_numpy_s_format(tmp_path: Path, kind: Any) -> None:
    file = tmp_path / "w.npy"
    np.save(file, RING.astype(kind))

    assert learners_in(file) == 4
    np.testing.assert_array_equal(build_schedule("custom", 4, file=file).at(0), RING)


@pytest.mark.parametrize("text", ["1\n", "1.0"])
def test_one_learner_s_matrix_is_a_number(file: Path, text: str) -> None:
    file.write_text(text)

    assert build_schedule("custom", 1, file=file).at(0).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        ("", {}, "is empty; give a line `i j` an edge, or a row of weights a line"),
        ("# nothing\n", {}, "is empty"),
        ("0 1\n1 2\n2 4\n", {}, "line 3: learner 4, but learners are numbered 0 to 3"),
        ("0 1\n1 1\n", {}, "line 2: learner 1 is no neighbour of its own; leave the line out"),
        ("0 1\n2 3\n", {}, "not connected: 2 groups of learners never hear from one another"),
        ("0 1\n0 2\n", {}, "not connected: 2 groups"),
        ("0 1\n0 2\n0 3\n", {"weights": "uniform"}, "not 1: use metropolis weights"),
        ("0 1\n1 2\n2 3\n", {"weights": "given"}, "is a list of edges, without weights; use weights metropolis"),
        (".5 .5\n.5 .5\n", {}, "is a matrix of 2 learners, but 4 were asked for"),
        (".5 .5\n.5 .5\n", {"weights": "uniform"}, "has weights of its own; use weights given, not uniform"),
        ("1 0 0 0\n0 1 0\n", {}, "line 2: row 1 has 3 numbers, row 0 has 4"),
        ("1 0 0 0\n0 one 0 0\n", {}, "line 2: 'one' is not a number; write weights like 0.25 or 1/3"),
        ("1 0 0 0\n0 nan 0 0\n", {}, "line 2: 'nan' is not a number"),
        ("1 0 0 0\n0 1/0 0 0\n", {}, "line 2: '1/0' is not a number"),
        ("1 0 0 0\n0 1e999 0 0\n", {}, "line 2: '1e999' is not a number"),
        ("1 0 0 0\n0 1 0 0\n", {}, "a mixing matrix is square, a row and a column a learner; this is 2 x 4"),
        ("-1 2\n0 1\n", {}, "is a matrix of 2 learners"),
        ("\n".join(["0.333333 0.333333 0.333333 0"] * 4), {}, "row 0 sums to 0.999999, not 1 (to 1e-12)"),
    ],
)
def test_a_bad_file_is_one_line(file: Path, text: str, options: dict[str, Any], line: str) -> None:
    file.write_text(text)

    with pytest.raises(UserError) as refused:
        build_schedule("custom", 4, file=file, **options)

    assert str(refused.value).startswith(f"{file}: ")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_files_that_are_none_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "text.npy").write_text("0 1\n")
    (tmp_path / "empty.npy").write_text("")
    np.savez(tmp_path / "many.npz", a=RING)
    (tmp_path / "many.npz").rename(tmp_path / "many.npy")
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    np.save(tmp_path / "complex.npy", RING.astype(complex))
    np.save(tmp_path / "short.npy", RING)
    (tmp_path / "short.npy").write_bytes((tmp_path / "short.npy").read_bytes()[:-8])

    for name, line in {
        "absent": "cannot be read (No such file or directory)",
        "absent.npy": "cannot be read (No such file or directory)",
        ".": "cannot be read (Is a directory)",
        "bytes": "is not text; a matrix of numpy's ends in .npy",
        "text.npy": "is not an array of numbers in numpy's format",
        "empty.npy": "is not an array of numbers in numpy's format",
        "many.npy": "is not an array of numbers in numpy's format",
        "objects.npy": "is not an array of numbers in numpy's format",
        "complex.npy": "holds complex128; weights are floats",
        "short.npy": "is not an array of numbers in numpy's format",
    }.items():
        with pytest.raises(UserError) as refused:
            build_schedule("custom", 4, file=tmp_path / name)
        assert str(refused.value) == f"{tmp_path / name}: {line}"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 140), byte=st.integers(0, 255))
def test_a_torn_numpy_file_is_a_matrix_or_one_line(tmp_path: Path, place: int, byte: int) -> None:
    file = tmp_path / "w.npy"
    np.save(file, RING)
    content = bytearray(file.read_bytes())
    content[place] = byte
    file.write_bytes(content)

    try:
        schedule = build_schedule("custom", 4, file=file)
    except UserError as error:
        told = str(error)
    else:
        told = str(schedule.learners)

    assert "\n" not in told
