"""Graphs that cannot be are said in a line, with the settings that ask for them, before anything starts."""

from pathlib import Path

import pytest

from gossipgan.errors import UserError
from gossipgan.sweeps.search import check_topologies

from ..conftest import MakeSweep

#: Learners 0 and 1 give away more than they have.
WRONG = "0.6 0.6 0\n0.6 0.4 0\n0 0 1\n"
RIGHT = "1/2 1/2 0\n1/2 1/4 1/4\n0 1/4 3/4\n"

SPACE = """
space:
  mixing.kind: gossip
  mixing.learners: 3
  mixing.topology: {topology}
  mixing.file: {file}
  lookahead.k: {{int: [2, 60]}}
budget: {{trials: 3}}
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of weights, named from the project's folder."""
    monkeypatch.chdir(tmp_path)
    Path("wrong.txt").write_text(WRONG)
    Path("right.txt").write_text(RIGHT)


@pytest.mark.parametrize(
    ("topology", "file", "says"),
    [
        ("custom", "no.txt", "no.txt: cannot be read"),
        ("custom", "wrong.txt", "wrong.txt: .*sum"),
        ("custom", "{choices: [right.txt, wrong.txt]}", "wrong.txt: .*sum"),
        ("custom", "{choices: [right.txt, no.txt]}", "no.txt: cannot be read"),
        ("{choices: [ring, custom]}", "{choices: [right.txt, no.txt], when: {mixing.topology: custom}}", "no.txt: "),
        ("hypercube", "null", "hypercube"),
    ],
)
def test_a_graph_that_cannot_be_is_refused(make_sweep: MakeSweep, topology: str, file: str, says: str) -> None:
    sweep = make_sweep(SPACE.format(topology=topology, file=file))
    with pytest.raises(UserError, match=says) as error:
        check_topologies(sweep)
    assert str(error.value).startswith(f"{sweep.path}: space: with mixing.kind='gossip', mixing.learners=3, ")
    assert "\n" not in str(error.value)


def test_a_right_file_is_taken_and_what_a_range_draws_is_left_to_the_trials(make_sweep: MakeSweep) -> None:
    check_topologies(make_sweep(SPACE.format(topology="custom", file="right.txt")))
    text = SPACE.replace("mixing.learners: 3", "mixing.learners: {{int: [2, 8]}}")
    check_topologies(make_sweep(text.format(topology="hypercube", file="null")))
    with pytest.raises(UserError, match=r"no\.txt: cannot be read"):
        check_topologies(make_sweep(text.format(topology="custom", file="no.txt")))


def test_a_baseline_and_the_experiment_itself_are_looked_at_too(make_sweep: MakeSweep, tmp_path: Path) -> None:
    space = "space: {lookahead.k: {int: [2, 60]}}\nbaselines: [BASELINE]\nbudget: {trials: 3}\n"
    params = tmp_path / "params.yaml"
    params.write_text(
        "experiments:\n  baseline: {}\n"
        "  own: {mixing: {kind: gossip, learners: 3, topology: custom, file: wrong.txt}}\n"
    )
    with pytest.raises(UserError, match=r"some\.yaml: baselines: own: wrong\.txt: "):
        check_topologies(make_sweep(space.replace("BASELINE", "own")))
    with pytest.raises(UserError, match=f"^{params}: wrong.txt: "):
        check_topologies(make_sweep("experiment: own\n" + space.replace("BASELINE", "baseline")))
