"""``gossipgan sweep``: the budget is exact, and whoever is killed, nothing is lost, run twice or left over."""

import json
import os
import shutil
import signal
from pathlib import Path

import optuna
import pytest

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


@pytest.fixture
def folder(for_sweeps: Path) -> Path:
    return for_sweeps


def test_killed_trial_worker_and_supervisor_change_nothing_of_the_outcome(folder: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    text = RANDOM.replace("space:", "space:\n  training.steps: 40") + "budget: {trials: 3}\n"
    write(folder, "small", text)
    shutil.copytree(folder, whole)
    run("gossipgan sweep run sweeps/small.yaml", whole)
    expected = [(one.settings, one.score) for one in trials_of(whole, "small")]

    process = start("gossipgan sweep run sweeps/small.yaml", folder)
    for trial, output in (("trial-0", "trial-0/seed-1.log"), ("trial-1", "worker-0.log")):
        wait_until(has_checkpoint(folder, trial), process)
        (victim,) = processes(folder, output)
        os.kill(victim, signal.SIGKILL)
    wait_until(has_checkpoint(folder, "trial-2"), process)
    process.kill()
    process.wait()
    assert gone(folder)
    assert [one.state for one in trials_of(folder, "small")] == ["ok", "ok", "interrupted"]

    run("gossipgan sweep resume small", folder)
    trials = trials_of(folder, "small")
    assert [(one.settings, one.score) for one in trials] == expected
    assert [one.state for one in trials] == ["ok"] * 3
    assert len({json.dumps(one.settings) for one in trials}) == 3
    for one in trials:  # gone on with from a checkpoint, not begun anew
        clock = Path(one.folder) / "seed-1" / "clock.jsonl"
        times = [json.loads(line)["seconds"] for line in clock.read_text().splitlines()]
        assert times == sorted(times)
    assert gone(folder)


def test_four_workers_on_a_fresh_storage_do_exactly_the_budget_even_if_all_are_killed(folder: Path) -> None:
    write(folder, "small", RANDOM + "budget: {trials: 6}\n")
    process = start("gossipgan sweep run sweeps/small.yaml --workers 4", folder)
    wait_until(lambda: list(folder.glob("work/sweeps/small/*/seed-1/result.json")), process)
    process.kill()
    process.wait()
    assert gone(folder)
    before = {one.number: one.score for one in trials_of(folder, "small") if one.state == "ok"}

    run("gossipgan sweep run sweeps/small.yaml --workers 4", folder)
    trials = trials_of(folder, "small")
    assert [one.number for one in trials] == list(range(6))
    assert [one.state for one in trials] == ["ok"] * 6
    assert before.items() <= {one.number: one.score for one in trials}.items()
    assert len({json.dumps(one.settings) for one in trials}) == 6

    run("gossipgan sweep run sweeps/small.yaml --workers 4", folder)
    assert len(trials_of(folder, "small")) == 6
    run("gossipgan sweep resume small --workers 4 --trials 7", folder)
    assert look(folder, "small").counts == {"ok": 7}
    assert gone(folder)


def test_ctrl_c_puts_trials_back_and_the_winner_is_had_again_by_train(folder: Path) -> None:
    # Trials of seconds, so that Ctrl-C comes in the middle of one on a quick machine, too.
    slower = {
        "steps: 24": "steps: 200",
        "evaluate_every: 8": "evaluate_every: 100",
        "sample_every: 24": "sample_every: 200",
    }
    text = PARAMS
    for short, long in slower.items():
        text = text.replace(short, long)
    (folder / "params.yaml").write_text(text)
    write(folder, "small", RANDOM.replace("baselines: []", "") + "budget: {trials: 2}\n")
    process = start("gossipgan sweep run sweeps/small.yaml", folder)
    wait_until(has_checkpoint(folder, "trial-0"), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors.startswith("gossipgan: interrupted")
    assert errors.count("\n") == 1
    assert gone(folder)
    assert look(folder, "small").counts == {"stopped": 1}

    done = run("gossipgan sweep resume small", folder)
    assert "baseline-baseline: ok" in done.stdout
    assert look(folder, "small").counts == {"ok": 2}
    best = json.loads(run("gossipgan sweep best small --json", folder).stdout)
    assert best["score"] == min(one.score for one in trials_of(folder, "small") if one.score is not None)
    listed = json.loads(run("gossipgan sweep trials small --json", folder).stdout)
    assert [one["name"] for one in listed] == ["baseline-baseline", "trial-0", "trial-1"]

    run("gossipgan sweep export small --as winner", folder)
    params = (folder / "params.yaml").read_text()
    assert "# what all others are compared with" in params
    assert "# as the sections are" in params
    run("gossipgan train -e winner --seed 1 --out again", folder)
    trial = Path(best["folder"]) / "seed-1"
    for name in ("journal.jsonl", "weights/generator-ema.safetensors", "weights/discriminator.safetensors"):
        assert (folder / "again" / name).read_bytes() == (trial / name).read_bytes(), name
    run("gossipgan sweep export small --as winner", folder)  # the same again is no mistake
    assert (folder / "params.yaml").read_text() == params
    assert "is there already" in run("gossipgan sweep export small --as baseline", folder, status=2).stderr
    run("gossipgan sweep resume small", folder)  # an exported winner is no change of the sweep


def test_divergence_is_told_as_the_worst_and_a_known_setting_is_not_run_again(folder: Path) -> None:
    write(
        folder,
        "wild",
        """
        space:
          game: {value: 1}
        budget: {trials: 1}
        """,
    )
    assert "space.game: no such setting" in run("gossipgan sweep run sweeps/wild.yaml", folder, status=2).stderr
    write(
        folder,
        "wild",
        """
        space:
          game.discriminator_norm: none
          game.loss: hinge
          training.steps: 200
          training.divergence_window: 20
          optimizer.generator.lr: {choices: [0.001, 10.0]}
          optimizer.discriminator.lr: {same_as: optimizer.generator.lr}
        sampler: random
        pruner: none
        baselines: []
        budget: {trials: 6}
        """,
    )
    run("gossipgan sweep run sweeps/wild.yaml --workers 2", folder)
    trials = trials_of(folder, "wild")
    assert len(trials) == 6
    run_really = {one.settings["optimizer.generator.lr"]: one for one in trials if one.duplicate_of is None}
    assert len([one for one in trials if one.duplicate_of is None]) == 2
    assert (run_really[0.001].state, run_really[10.0].state) == ("ok", "diverged")
    for one in trials:
        original = run_really[one.settings["optimizer.generator.lr"]]
        assert (one.state, one.score) == (original.state, original.score)
        assert Path(one.folder).exists() == (one.duplicate_of is None)

    study = optuna.load_study(study_name="wild", storage=f"sqlite:///{folder / 'sweeps.db'}")
    told = {trial.params["optimizer.generator.lr"]: trial.value for trial in study.trials}
    assert told[10.0] is not None
    assert told[10.0] >= run_really[0.001].score
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
    best = look(folder, "wild").best
    assert best is not None
    assert best.settings["optimizer.generator.lr"] == 0.001


def test_a_changed_space_is_refused_by_name_and_forked_on_request(folder: Path) -> None:
    write(folder, "small", RANDOM + "budget: {trials: 2}\n")
    run("gossipgan sweep run sweeps/small.yaml --workers 2", folder)
    write(folder, "small", RANDOM.replace("int: [2, 8]", "int: [2, 9]") + "budget: {trials: 1}\n")
    refused = run("gossipgan sweep run sweeps/small.yaml", folder, status=2).stderr
    assert 'space.lookahead.k was {"int": [2, 8]}, is {"int": [2, 9]}' in refused
    assert refused.count("\n") == 1
    run("gossipgan sweep run sweeps/small.yaml --fork", folder)
    forked = trials_of(folder, "small-2")
    assert [one.source for one in forked] == ["small/0", "small/1", None]
    assert [one.score for one in forked[:2]] == [one.score for one in trials_of(folder, "small")]
    assert "nothing has changed" in run("gossipgan sweep run sweeps/small.yaml --fork", folder, status=2).stderr
