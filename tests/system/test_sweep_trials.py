"""Trials of a sweep in every shape: several processes, several objectives, several seeds, and all ways to end."""

import json
import os
import signal
from contextlib import closing
from pathlib import Path

import optuna
import pytest

from gossipgan.runs import read_journal
from gossipgan.sweeps import StudyStorage, default_url

from .conftest import run
from .sweeping import (
    PARAMS,
    RANDOM,
    gone,
    has_checkpoint,
    look,
    processes,
    start,
    trials_of,
    wait_until,
    write,
)

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes as Linux shows them"),
]

RING = "  ring: {mixing: {kind: gossip, learners: 2, rounds: 1}}\n"

TWO = """
experiment: ring
space:
  lookahead.kind: joint
  lookahead.k: {int: [2, 8]}
  training.steps: 40
objectives: [{metric: fid}, {metric: bytes}]
sampler: random
pruner: none
baselines: [baseline]
budget: {trials: 2}
"""


@pytest.fixture
def folder(for_sweeps: Path) -> Path:
    return for_sweeps


def _attributes(folder: Path, name: str, number: int) -> dict[str, object]:
    with closing(StudyStorage(default_url(folder), create=False)) as storage:
        study = optuna.load_study(study_name=name, storage=storage.optuna)
        return dict(study.trials[number].user_attrs)


def test_a_trial_in_two_processes_is_the_same_trial_even_if_one_is_killed(folder: Path) -> None:
    (folder / "params.yaml").write_text(PARAMS + RING)
    write(folder, "one", TWO)
    write(folder, "two", TWO + "processes: 2\n")
    run("gossipgan sweep run sweeps/one.yaml", folder)
    expected = trials_of(folder, "one")

    process = start("gossipgan sweep run sweeps/two.yaml", folder)
    wait_until(has_checkpoint(folder, "trial-0", "two"), process)
    members = processes(folder, "two/trial-0/seed-1.log")
    ranks = [pid for pid in members if os.getpgid(pid) != pid]
    assert len(ranks) == 2
    os.kill(ranks[-1], signal.SIGKILL)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert gone(folder)
    assert _attributes(folder, "two", 0)["failures"] == 1

    trials = trials_of(folder, "two")
    assert [(one.settings, one.values, one.state) for one in trials] == [
        (one.settings, one.values, "ok") for one in expected
    ]
    for one, other in zip(trials, expected, strict=True):
        for name in ("journal.jsonl", "weights/generator-ema.safetensors", "weights/discriminator.safetensors"):
            assert (one.folder / "seed-1" / name).read_bytes() == (other.folder / "seed-1" / name).read_bytes(), name
    # Each of two learners sends both players in float32 to the other, once an iteration; the baseline sends nothing.
    result = json.loads((trials[0].folder / "seed-1" / "result.json").read_text())
    least = 2 * 40 * 4 * sum(result["parameters"].values())
    for one in trials:
        assert one.bytes is not None
        assert least <= one.bytes <= 1.01 * least  # flat vectors are padded
    assert {one.images for one in trials} == {result["images"]}
    (baseline,) = look(folder, "two").baselines
    assert baseline.values is not None
    assert baseline.values[1] == baseline.bytes == 0
    # The bytes are equal, so the better picture is the front.
    best = run("gossipgan sweep best two", folder).stdout
    assert best.count("\n") == 1
    assert best.startswith(f"{min(trials, key=lambda one: one.score or 0).name}: fid_")
    front = json.loads(run("gossipgan sweep best two --json", folder).stdout)
    assert [one["values"] for one in front] == [list(look(folder, "two").front[0].values or ())]
    refused = run("gossipgan sweep run sweeps/two.yaml --processes 3", folder, status=2).stderr
    assert "no trial has more than 2 learners" in refused
    assert refused.count("\n") == 1


def test_of_several_seeds_the_first_ones_curve_decides_and_the_mean_is_told(folder: Path) -> None:
    text = RANDOM.replace("pruner: none", "pruner: {kind: successive-halving, reduction: 2}")
    slower = "space:\n  training.steps: 240\n  training.evaluate_every: 60\n  training.sample_every: 240"
    write(folder, "pruned", text.replace("space:", slower) + "seeds: [1, 2]\nbudget: {trials: 4}\n")
    run("gossipgan sweep run sweeps/pruned.yaml", folder)
    trials = trials_of(folder, "pruned")
    with closing(StudyStorage(default_url(folder), create=False)) as storage:
        told = optuna.load_study(study_name="pruned", storage=storage.optuna).trials
    rungs: dict[int, list[float]] = {60: [], 120: [], 240: []}
    for one, study_trial in zip(trials, told, strict=True):
        curve = {
            entry["step"]: entry["fid_digits_100_ema"]
            for entry in read_journal(one.folder / "seed-1" / "journal.jsonl")
            if entry["event"] == "score"
        }
        assert study_trial.intermediate_values.items() <= curve.items()
        # By hand: of each rung the better half so far goes on, the best alone of fewer than four.
        hopeless = None
        for step, known in rungs.items():
            if step not in curve or (hopeless is not None and one.state != "ok"):
                break
            known.append(curve[step])
            if hopeless is None and curve[step] > sorted(known)[max(0, len(known) // 2 - 1)]:
                hopeless = step
        if hopeless is None or one.state == "ok":  # a quick machine may end a run before anybody has looked
            assert (one.state, set(one.scores)) == ("ok", {"1", "2"})
            assert one.score == sum(one.scores.values()) / 2
            assert one.scores["1"] == curve[240]
            assert study_trial.intermediate_values == curve
        else:
            assert one.state == "pruned"
            assert max(study_trial.intermediate_values) == hopeless
            assert not (one.folder / "seed-2").exists()
    assert any(one.state == "ok" for one in trials)
    used = [one.images for one in trials]
    assert used == [sum(_images(path) for path in sorted(one.folder.glob("seed-*/journal.jsonl"))) for one in trials]


def _images(journal: Path) -> int:
    return max(int(entry.get("images", 0)) for entry in read_journal(journal))


def test_a_sweep_that_is_asked_to_stop_puts_its_trial_back_and_is_gone_on_with(folder: Path) -> None:
    write(folder, "small", RANDOM.replace("space:", "space:\n  training.steps: 400") + "budget: {trials: 2}\n")
    process = start("gossipgan sweep run sweeps/small.yaml", folder)
    wait_until(has_checkpoint(folder, "trial-0"), process)
    said = run("gossipgan sweep stop small", folder).stdout
    assert "gossipgan sweep resume small goes on with it" in said
    output, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == (0, "")
    assert "stopped (stop); gossipgan sweep resume small goes on with it" in output
    assert gone(folder)
    assert look(folder, "small").counts == {"stopped": 1}
    settings = trials_of(folder, "small")[0].settings
    run("gossipgan sweep resume small", folder)
    trials = trials_of(folder, "small")
    assert look(folder, "small").counts == {"ok": 2}
    assert trials[0].settings == settings
    clock = trials[0].folder / "seed-1" / "clock.jsonl"
    times = [json.loads(line)["seconds"] for line in clock.read_text().splitlines()]
    assert times == sorted(times)  # gone on with, not begun anew


def test_a_trial_that_takes_too_long_is_told_apart(folder: Path) -> None:
    write(
        folder,
        "ends",
        """
        space: {training.steps: {choices: [8, 60000]}}
        sampler: grid
        pruner: none
        baselines: []
        budget: {trial_time: 20s}
        """,
    )
    run("gossipgan sweep run sweeps/ends.yaml", folder)
    ends = {one.settings["training.steps"]: one for one in trials_of(folder, "ends")}
    assert {key: one.state for key, one in ends.items()} == {8: "ok", 60000: "timed-out"}
    assert ends[60000].reason == "not done in 20 s"
    listed = run("gossipgan sweep trials ends", folder).stdout
    assert listed.count("timed-out") == 1
    assert gone(folder)


def test_a_fork_of_its_own_command_runs_nothing_and_is_run_by_resume(folder: Path) -> None:
    write(folder, "small", RANDOM + "budget: {trials: 1}\n")
    run("gossipgan sweep run sweeps/small.yaml", folder)
    refused = run("gossipgan sweep fork small", folder, status=2).stderr
    assert "nothing has changed since study small began" in refused
    assert refused.count("\n") == 1
    write(folder, "small", RANDOM.replace("int: [2, 8]", "int: [2, 9]") + "budget: {trials: 1}\n")
    assert "small-2: begun, knowing 1 trials" in run("gossipgan sweep fork small", folder).stdout
    (known,) = trials_of(folder, "small-2")
    assert (known.source, known.score) == ("small/0", trials_of(folder, "small")[0].score)
    assert not (folder / "work/sweeps/small-2").exists()
    run("gossipgan sweep resume small-2", folder)
    assert [one.source for one in trials_of(folder, "small-2")] == ["small/0", None]
