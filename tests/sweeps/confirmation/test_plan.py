"""Who is confirmed, on which seeds and for how long: planned from studies of which every trial was told its score."""

import textwrap
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import optuna
import pytest

from gossipgan.config import Settings, load_params
from gossipgan.errors import UserError
from gossipgan.sweeps import ConfirmOptions, StudyStorage, default_url, load_sweep
from gossipgan.sweeps.confirmation.plan import Plan, plan_confirmation
from gossipgan.sweeps.study import choose_study, claim

optuna.logging.set_verbosity(optuna.logging.WARNING)

PARAMS = """
training: {steps: 1000, batch: 60, evaluate_every: 250, log_every: 20}
seeds: [3, 9, 4]
experiments:
  baseline: {}
  critic: {optimizer: {d_steps: 4}}
  gossip: {mixing: {kind: gossip, learners: 4}, training: {batch: 15}}
"""

#: Trials of a tenth of the length, on seeds that the params file does not name.
LOOKAHEAD = """
space:
  lookahead.kind: joint
  lookahead.k: {int: [2, 60]}
  training.steps: 100
  training.evaluate_every: 50
sampler: random
pruner: none
seeds: [11, 5]
budget: {trials: 9}
"""

Scores = Sequence[tuple[Mapping[str, int | float | str], float]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "sweeps").mkdir()
    return tmp_path


def _sweep(folder: Path, name: str, text: str, scores: Scores) -> None:
    """A sweep that tried these values of its space, which came to these scores; a score of inf: it diverged."""
    path = folder / "sweeps" / f"{name}.yaml"
    path.write_text(textwrap.dedent(text) + f"enqueue: {[dict(values) for values, _ in scores]}\n")
    sweep = load_sweep(path, load_params(folder / "params.yaml"))
    with closing(StudyStorage(default_url(folder), create=True)) as storage:
        choose_study(storage, sweep, "digest", ["fid_digits_2000_ema"], fork=False)
        told = dict(enumerate(score for _, score in scores))
        while (taken := claim(storage, sweep, name, len(scores), "digest")) is not None:
            score = 50.0 if taken.baseline == "critic" else 60.0
            if taken.baseline is None:
                score = told[taken.number]
            taken.trial.set_user_attr("outcome", "ok" if score != float("inf") else "diverged")
            taken.study.tell(taken.trial, min(score, 1000.0))


def _plan(folder: Path, top: int = 3, seeds: int = 2, against: str | None = None, steps: int | None = None) -> Plan:
    options = ConfirmOptions("some", top, seeds, against, steps, 1, default_url(folder))
    return plan_confirmation(options, load_params(folder / "params.yaml"), "digest")


def _images(settings: Settings) -> int:
    """By what each kind of training is: steps, batches in each, pictures in a batch, learners."""
    batches = {"extragradient": 2, "extra-adam": 2}.get(settings.optimizer.name, settings.optimizer.d_steps)
    return settings.training.steps * batches * settings.training.batch * settings.mixing.learners


def test_the_best_that_ended_well_are_run_at_the_params_files_length(folder: Path) -> None:
    tried = [({"lookahead.k": 5}, 7.0), ({"lookahead.k": 6}, float("inf")), ({"lookahead.k": 7}, 3.0)]
    _sweep(folder, "some", LOOKAHEAD, [*tried, ({"lookahead.k": 8}, 5.0)])
    plan = _plan(folder, top=2)
    assert [(one.name, one.settings.lookahead.k, one.searched) for one in plan.candidates] == [
        ("trial-2", 7, 3.0),
        ("trial-3", 8, 5.0),
    ]
    for one in (*plan.candidates, *plan.baselines):
        training = one.settings.training
        assert (training.steps, training.evaluate_every, training.log_every) == (1000, 250, 20)
    assert plan.candidates[0].proposed == {"lookahead.kind": "joint", "lookahead.k": 7}
    assert [one.name for one in _plan(folder, top=9).candidates] == ["trial-2", "trial-3", "trial-0"]
    shorter = _plan(folder, steps=40)
    assert {one.settings.training.steps for one in (*shorter.candidates, *shorter.baselines)} == {40}


def test_seeds_are_after_all_that_were_used(folder: Path) -> None:
    _sweep(folder, "some", LOOKAHEAD, [({"lookahead.k": 5}, 7.0)])
    assert _plan(folder, seeds=3).seeds == (12, 13, 14)
    _sweep(
        folder,
        "other",
        "space: {game.latent: {int: [8, 80]}}\nseeds: [20]\nbudget: {trials: 1}\n",
        [({"game.latent": 16}, 8.0)],
    )
    assert _plan(folder, against="other").seeds == (21, 22)


def test_trials_that_differ_in_length_alone_are_one_candidate(folder: Path) -> None:
    text = LOOKAHEAD.replace("training.steps: 100", "training.steps: {int: [50, 200]}")
    lengths = [({"lookahead.k": 5, "training.steps": steps}, 100.0 - steps) for steps in (60, 80)]
    _sweep(folder, "some", text, [*lengths, ({"lookahead.k": 6, "training.steps": 70}, 35.0)])
    assert [one.name for one in _plan(folder).candidates] == ["trial-1", "trial-2"]


def test_all_see_exactly_as_many_images(folder: Path) -> None:
    text = """
    space:
      optimizer.d_steps: {choices: [1, 2, 5]}
      mixing.kind: gossip
      mixing.learners: 2
      training.batch: 30
      training.steps: 100
    sampler: random
    pruner: none
    baselines: [baseline, critic, gossip]
    budget: {trials: 3}
    """
    _sweep(folder, "some", text, [({"optimizer.d_steps": steps}, float(steps)) for steps in (2, 1, 5)])
    plan = _plan(folder)
    assert [one.name for one in plan.candidates] == ["trial-1", "trial-0", "trial-2"]
    assert plan.images == 1000 * 2 * 30
    for one in (*plan.candidates, *plan.baselines):
        assert _images(one.settings) == plan.images, one.name
    # Two learners of 30 are one of 60, or four of 15; more D steps leave fewer iterations.
    by_name = {one.name: one.settings.training for one in (*plan.candidates, *plan.baselines)}
    assert [by_name[name].batch for name in ("baseline", "critic", "gossip")] == [60, 60, 15]
    assert [by_name[name].steps for name in ("trial-1", "trial-0", "trial-2", "critic")] == [1000, 500, 200, 250]
    # The best of the baselines by the sweep is what the others are held against.
    assert [one.name for one in plan.baselines] == ["critic", "baseline", "gossip"]


def test_images_that_cannot_be_equal_are_refused_with_steps_that_would_do(folder: Path) -> None:
    text = LOOKAHEAD.replace("training.steps: 100", "training.batch: {choices: [32, 48]}")
    _sweep(folder, "some", text, [({"lookahead.k": 5, "training.batch": batch}, batch) for batch in (32, 48)])
    with pytest.raises(UserError, match=r"trial-1: sees 48 pictures .*the 32000 of 1000 .*--steps a multiple of 3$"):
        _plan(folder)
    with pytest.raises(UserError, match=r"baseline: sees 60 pictures .*--steps a multiple of 15$"):
        _plan(folder, steps=999)
    assert {_images(one.settings) for one in _plan(folder, steps=990).candidates} == {990 * 32}


def test_another_sweeps_best_is_the_baseline_with_its_own_tuning(folder: Path) -> None:
    _sweep(folder, "some", LOOKAHEAD, [({"lookahead.k": k}, float(k)) for k in (5, 6, 7)])
    text = "space: {optimizer.generator.lr: {float: [1e-4, 1e-2]}, training.steps: 100}\nbudget: {trials: 2}\n"
    _sweep(folder, "plain", text, [({"optimizer.generator.lr": rate}, rate) for rate in (0.002, 0.001)])
    plan = _plan(folder, against="plain")
    (baseline,) = plan.baselines
    assert (baseline.name, baseline.settings.optimizer.generator.lr) == ("plain/trial-1", 0.001)
    assert (baseline.settings.training.steps, baseline.settings.lookahead.kind) == (1000, "none")
    assert (plan.candidates_tuning.trials, plan.baseline_tuning.trials) == (3, 2)
    assert _plan(folder).baseline_tuning.trials == 1


@pytest.mark.parametrize(
    ("against", "says"),
    [
        ("some", "--against some: that is the sweep itself"),
        ("plian", "no sweep 'plian'; there are some"),
        (None, "baselines: there are none .* with --against"),
    ],
)
def test_what_cannot_be_compared_is_refused(folder: Path, against: str | None, says: str) -> None:
    _sweep(folder, "some", LOOKAHEAD + "baselines: []\n", [({"lookahead.k": 5}, 7.0)])
    with pytest.raises(UserError, match=says):
        _plan(folder, against=against)


def test_a_sweep_without_a_good_trial_or_of_another_file_is_refused(folder: Path) -> None:
    _sweep(folder, "some", LOOKAHEAD, [({"lookahead.k": 5}, float("inf"))])
    with pytest.raises(UserError, match="some: no trial has ended well yet"):
        _plan(folder)
    path = folder / "sweeps" / "some.yaml"
    path.write_text(path.read_text().replace("[2, 60]", "[2, 50]"))
    with pytest.raises(UserError, match="has changed since study some began"):
        _plan(folder)
