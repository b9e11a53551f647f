"""``gossipgan train --dry-run``: what it prints and refuses, with nothing prepared and nothing left behind."""

import json
from pathlib import Path

import pytest

from gossipgan.cli.dry_run import _duration

from .conftest import Gossipgan

PARAMS = """
game: {width: 4, latent: 8, discriminator_norm: none}
training: {steps: 1000, batch: 4, threads: 1, device: cpu}
experiments:
  baseline: {}
  lookahead: {lookahead: {kind: joint}}
  gossip: {mixing: {kind: gossip, learners: 8}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing but a params.yaml in it, and a process that is there."""
    (tmp_path / "params.yaml").write_text(PARAMS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_prints_parameters_memory_operations_time_and_pictures(gossipgan: Gossipgan, project: Path) -> None:
    status, out, err = gossipgan("train", "-e", "lookahead", "--dry-run")

    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "dry run of lookahead on CPU, threads: 1: nothing is trained or written"
    headings = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
    assert headings == ["parameters", "memory", "operations", "time", "pictures"]
    assert "scoring, samples and checkpoints not included" in out
    assert "4,000 seen in 1,000 iterations, 4 in a batch" in out
    assert [path.name for path in project.iterdir()] == ["params.yaml"]


def test_json_holds_exact_numbers(gossipgan: Gossipgan, project: Path) -> None:
    status, out, _ = gossipgan("train", "-e", "lookahead", "-S", "training.steps=7", "--dry-run", "--json")

    content = json.loads(out)
    assert status == 0
    assert (content["experiment"], content["device"], content["threads"]) == ("lookahead", "cpu", 1)
    # The convolutions of G and of D, and G's batch norms; see the DCGAN's own tests.
    assert content["parameters"] == {
        "generator": 8 * 32 * 9 + 32 * 16 * 16 + 16 * 8 * 16 + 8 * 16 + 2 * (32 + 16 + 8),
        "discriminator": 4 * 16 + 4 * 8 * 16 + 8 * 16 * 16 + 16 * 9,
    }
    memory = content["memory_bytes"]
    assert memory["lookahead"] == memory["gradients"]
    parts = ("players", "gradients", "optimizers", "lookahead", "averages")
    assert memory["held"] == sum(memory[part] for part in parts)
    assert memory["activations"] > 0
    assert memory["device_peak"] is None
    assert content["operations"]["all"] == 7 * content["operations"]["iteration"]
    seconds = content["seconds_without_scoring"]
    assert seconds["all"] == pytest.approx(7 * seconds["iteration"])
    assert seconds["iterations_timed"] >= 3
    assert (content["steps"], content["batch"], content["learners"], content["pictures"]) == (7, 4, 1, 28)


def test_learners_are_named_and_their_exchanges_left_out(gossipgan: Gossipgan, project: Path) -> None:
    _, out, _ = gossipgan("train", "-e", "gossip", "--dry-run")

    assert "8; by one, unless in all" in out
    assert "exchanges, scoring, samples and checkpoints not included" in out
    assert "32,000 seen" in out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--dry-run", "--out", "run"), "--out: --dry-run reads no data and writes nothing"),
        (("--dry-run", "--overwrite"), "--overwrite: --dry-run"),
        (("--dry-run", "--fail-on-divergence"), "--fail-on-divergence: --dry-run"),
        (("--dry-run", "--data", "store"), "--data: --dry-run"),
        (("--dry-run", "--extractor", "extractor"), "--extractor: --dry-run"),
        (("--json",), "--json: goes with --dry-run alone"),
        (("--dry-run", "-e", "lookahaed"), "did you mean 'lookahead'?"),
        (("--dry-run", "-S", "training.device=cuda:99"), "GPUs found; use auto or cpu"),
    ],
)
def test_what_does_not_go_together_is_one_line_and_status_2(
    gossipgan: Gossipgan, project: Path, options: tuple[str, ...], says: str
) -> None:
    status, out, err = gossipgan("train", *options)

    assert (status, out) == (2, "")
    assert err.startswith("gossipgan: error: ")
    assert err.count("\n") == 1
    assert says in err
    assert [path.name for path in project.iterdir()] == ["params.yaml"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3599.6, "1 h"),
        (7384, "2 h 3 min"),
        (86400 * 3 + 59, "3 d"),
        (86400 * 400 + 3600 * 5, "400 d 5 h"),
    ],
)
def test_durations_are_told_in_their_two_largest_units(seconds: float, words: str) -> None:
    assert _duration(seconds) == words
