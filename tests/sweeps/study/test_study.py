import optuna
import pytest

from gossipgan.errors import UserError
from gossipgan.sweeps import StudyStorage, Sweep, default_url, view
from gossipgan.sweeps.study import choose_study, claim

from ..conftest import MakeSweep

optuna.logging.set_verbosity(optuna.logging.WARNING)


def _text(low: int = 2, kind: str = "joint", metric: str = "fid", trials: int = 4) -> str:
    return (
        f"space: {{lookahead.k: {{int: [{low}, 9]}}, lookahead.kind: {kind}}}\n"
        f"objective: {{metric: {metric}}}\nsampler: random\npruner: none\nbaselines: []\nbudget: {{trials: {trials}}}"
    )


def _choose(storage: StudyStorage, sweep: Sweep, *, digest: str = "digest", fork: bool = False) -> str:
    return choose_study(storage, sweep, digest, ["fid_digits_2000_ema"], fork=fork)


def _finish(storage: StudyStorage, sweep: Sweep, name: str, trials: int) -> list[int]:
    """Run all trials as if each scored its k."""
    ks = []
    while (taken := claim(storage, sweep, name, trials, "digest")) is not None:
        ks.append(taken.settings.lookahead.k)
        taken.trial.set_user_attr("outcome", "ok")
        taken.study.tell(taken.trial, float(ks[-1]))
    return ks


def test_a_changed_space_is_refused_with_what_changed(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(_text())
    storage = StudyStorage(default_url(sweep.params.path.parent), create=True)
    assert _choose(storage, sweep) == "some"
    assert _choose(storage, make_sweep(_text(trials=9))) == "some"  # the budget may change
    for text, digest, says in (
        (_text(low=3), "digest", 'space.lookahead.k was {"int": [2, 9]}, is {"int": [3, 9]}'),
        (_text(kind="none"), "digest", 'space.lookahead.kind was {"value": "joint"}, is {"value": "none"}'),
        (_text(metric="kid"), "digest", 'objective.metric was "fid", is "kid"'),
        (_text() + "\nseeds: [7]", "digest", "seeds was [3], is [7]"),
        (_text(), "other", 'data was "digest", is "other"'),
    ):
        with pytest.raises(UserError) as error:
            _choose(storage, make_sweep(text), digest=digest)
        assert says in str(error.value)
        assert "--fork" in str(error.value)
        assert "\n" not in str(error.value)
    params = sweep.params.path
    params.write_text(params.read_text().replace("steps: 100", "steps: 90"))
    with pytest.raises(UserError, match=r"settings\.training\.steps was 100, is 90"):
        _choose(storage, make_sweep(_text()))


def test_a_fork_knows_old_values_that_were_measured_alike(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(_text())
    storage = StudyStorage(default_url(sweep.params.path.parent), create=True)
    _choose(storage, sweep)
    ks = _finish(storage, sweep, "some", 4)
    wider = make_sweep(_text(low=1))
    assert _choose(storage, wider, fork=True) == "some-2"
    assert _choose(storage, wider) == "some-2"
    work = sweep.params.path.parent
    assert [(trial.source, trial.score) for trial in view(storage, "some-2", work).trials] == [
        (f"some/{number}", float(k)) for number, k in enumerate(ks)
    ]
    # Its own budget is untouched by them.
    _finish(storage, wider, "some-2", 3)
    assert sum(trial.source is None for trial in view(storage, "some-2", work).trials) == 3


def test_a_fork_tries_the_best_old_settings_first_where_values_do_not_compare(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(_text())
    storage = StudyStorage(default_url(sweep.params.path.parent), create=True)
    _choose(storage, sweep)
    best = min(_finish(storage, sweep, "some", 4))
    other = make_sweep(_text(kind="none"))
    name = _choose(storage, other, fork=True)
    waiting = optuna.load_study(study_name=name, storage=storage.optuna).trials
    assert {trial.state.name for trial in waiting} == {"WAITING"}
    assert waiting[0].system_attrs["fixed_params"] == {"lookahead.k": best}


def test_a_study_whose_making_was_cut_short_is_made_anew(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(_text())
    storage = StudyStorage(default_url(sweep.params.path.parent), create=True)
    optuna.create_study(storage=storage.optuna, study_name="some")
    assert _choose(storage, sweep) == "some"
    assert len(_finish(storage, sweep, "some", 4)) == 4
