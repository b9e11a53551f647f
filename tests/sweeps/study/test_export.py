import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.config import load_params
from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory
from gossipgan.sweeps import Sweep, TrialView, export, load_sweep

from ..conftest import PARAMS, MakeSweep

SPACE = """
space:
  lookahead.kind: joint
  lookahead.k: {int: [2, 9]}
  optimizer.generator.lr: {float: [1e-7, 10], log: true}
budget: {trials: 3}
"""


def _trial(folder: Path, **values: object) -> TrialView:
    return TrialView(
        number=0,
        name="trial-0",
        state="ok",
        score=1.0,
        scores={},
        step=0,
        steps=0,
        seconds=0.0,
        left=None,
        settings={key.replace("__", "."): value for key, value in values.items()},
        folder=folder,
        reason=None,
        duplicate_of=None,
        source=None,
    )


@given(st.floats(1e-7, 10, allow_nan=False))
@settings(deadline=None, max_examples=25)
def test_a_rate_is_written_to_the_last_bit(tmp_path_factory: pytest.TempPathFactory, rate: float) -> None:
    folder = tmp_path_factory.mktemp("export")
    (folder / "params.yaml").write_text(PARAMS)
    (folder / "some.yaml").write_text(SPACE)
    sweep = load_sweep(folder / "some.yaml", load_params(folder / "params.yaml"))
    export(sweep, _trial(folder, optimizer__generator__lr=rate, lookahead__kind="joint"), "winner")
    written = load_params(folder / "params.yaml").settings("winner").optimizer.generator.lr
    assert math.ulp(rate) > 0
    assert written == rate


def test_comments_and_the_rest_of_the_file_are_kept(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(SPACE)
    export(sweep, _trial(sweep.path.parent, lookahead__kind="joint", lookahead__k=7), "winner")
    text = sweep.params.path.read_text()
    assert "# what all are compared with" in text
    winner = "  winner:\n    lookahead: {kind: joint, k: 7}\n"
    assert text.replace(winner, "").split() == PARAMS.split()
    assert load_params(sweep.params.path).settings("gossip").mixing.learners == 4


def test_the_base_experiments_overrides_are_in_it(make_sweep: MakeSweep) -> None:
    sweep = make_sweep("experiment: gossip\n" + SPACE)
    export(sweep, _trial(sweep.path.parent, lookahead__kind="joint"), "winner")
    exported = load_params(sweep.params.path).settings("winner")
    assert (exported.mixing.kind, exported.lookahead.kind) == ("gossip", "joint")
    assert exported == sweep.trial_settings({"lookahead.kind": "joint"})


def test_a_name_that_is_taken_is_refused_and_nothing_is_written(make_sweep: MakeSweep) -> None:
    sweep: Sweep = make_sweep(SPACE)
    before = sweep.params.path.read_text()
    for name, says in (("gossip", "is there already"), ("a b", "letters, digits")):
        with pytest.raises(UserError, match=says):
            export(sweep, _trial(sweep.path.parent, lookahead__k=7), name)
    assert sweep.params.path.read_text() == before


SHORT = """
space:
  lookahead.kind: joint
  lookahead.k: {int: [2, 9]}
  training.steps: {int: [10, 50]}
  training.batch: 32
  training.threads: 1
  training.evaluate_every: 5
  training.sample_every: 50
budget: {trials: 3}
"""


def test_a_full_experiment_is_run_at_the_budget_of_the_one_that_the_space_varies(make_sweep: MakeSweep) -> None:
    sweep = make_sweep("experiment: gossip\n" + SHORT)
    trial = {"lookahead__kind": "joint", "lookahead__k": 7}
    fixed = {"steps": 20, "batch": 32, "threads": 1, "evaluate_every": 5, "sample_every": 50}
    values = {**trial, **{f"training__{key}": value for key, value in fixed.items()}}
    left_out = export(sweep, _trial(sweep.path.parent, **values), "winner", full=True)
    assert set(left_out) == {f"training.{key}" for key in fixed if key != "batch"}
    params = load_params(sweep.params.path)
    exported, varied = params.settings("winner"), params.settings("gossip")
    assert exported.training == varied.training.model_copy(update={"batch": 32})
    assert (exported.training.steps, exported.mixing) == (100, varied.mixing)
    assert (exported.lookahead.kind, exported.lookahead.k) == ("joint", 7)
    # Once more it is the same, and there is nothing to say; the trial itself is another experiment.
    before = sweep.params.path.read_text()
    again = load_sweep(sweep.path, params)
    assert export(again, _trial(sweep.path.parent, **values), "winner", full=True) == left_out
    with pytest.raises(UserError, match="is there already"):
        export(again, _trial(sweep.path.parent, **values), "winner")
    assert sweep.params.path.read_text() == before
    assert export(again, _trial(sweep.path.parent, **values), "trial") == ()
    assert load_params(sweep.params.path).settings("trial").training.steps == 20


@pytest.mark.parametrize("full", [False, True])
def test_settings_that_have_changed_since_a_trial_are_refused(make_sweep: MakeSweep, full: bool) -> None:
    sweep = make_sweep(SHORT)
    trial = _trial(sweep.path.parent / "trial-0", **{"lookahead__kind": "joint", "training__steps": 20})
    run = RunDirectory(trial.folder / "seed-3")
    run.write_settings(sweep.trial_settings(trial.settings), 3, "ab" * 32, "some trial-0")
    export(sweep, trial, "winner", full=full)
    sweep.params.path.write_text(PARAMS + "game: {latent: 17}\n")
    changed = load_sweep(sweep.path, load_params(sweep.params.path))
    with pytest.raises(UserError, match="would not give trial-0 again: settings have changed"):
        export(changed, trial, "winner", full=full)
    assert "winner" not in sweep.params.path.read_text()
