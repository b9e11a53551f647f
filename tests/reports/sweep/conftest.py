"""Studies of sweeps that have been run, as far as a report can tell: no training is needed for them."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import optuna
import pytest
from optuna.trial import TrialState, create_trial

from gossipgan.config import load_params
from gossipgan.reports.sweep.record import Record, read
from gossipgan.sweeps import StudyStorage, default_url, load_sweep
from gossipgan.sweeps.processes import Identity
from gossipgan.sweeps.study import baselines_of, choose_study

PARAMS = "training: {steps: 100, device: cpu}\nseeds: [1]\nexperiments: {baseline: {}}\n"

SPACE = """
space:
  lookahead.kind: {choices: [none, joint]}
  lookahead.k: {int: [2, 50], log: true, when: {lookahead.kind: joint}}
  lookahead.alpha: {float: [0.2, 0.9], when: {lookahead.kind: joint}}
  optimizer.generator.lr: {float: [1e-4, 1e-1], log: true}
  optimizer.discriminator.lr: {ratio_of: optimizer.generator.lr, float: [0.25, 4.0], log: true}
  training.threads: 1
budget: {trials: 12}
"""

#: Optuna's states of outcomes.
STATES = {"ok": TrialState.COMPLETE, "diverged": TrialState.COMPLETE, "pruned": TrialState.PRUNED}


class Fake(NamedTuple):
    """A trial that never ran.

    Attributes:
        values: told to the study.
        params: as Optuna proposes them.
        worker: of one that is running.
    """

    outcome: str
    values: tuple[float, ...] | None
    params: dict[str, Any]
    curve: dict[int, float] = {}  # noqa: RUF012
    about: dict[str, Any] = {}  # noqa: RUF012


class Study(NamedTuple):
    """A project's folder with a study in it."""

    root: Path
    name: str

    def record(self) -> Record:
        """The study, as the page has it."""
        with closing(StudyStorage(default_url(self.root), create=False)) as storage:
            return read(storage, self.name, self.root / "work" / "sweeps")


Build = Callable[..., Study]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Makes a study of trials that never ran, in a project of its own."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def make(
        trials: Sequence[Fake],
        baseline: tuple[float, ...] | None = (20.0,),
        space: str = SPACE,
        metrics: Sequence[str] = ("fid_digits_2000_ema",),
        attributes: Mapping[str, Any] | None = None,
    ) -> Study:
        root = tmp_path_factory.mktemp("sweep") / "project"
        (root / "sweeps").mkdir(parents=True)
        (root / "params.yaml").write_text(PARAMS)
        (root / "sweeps" / "some.yaml").write_text(textwrap.dedent(space))
        sweep = load_sweep(root / "sweeps" / "some.yaml", load_params(root / "params.yaml"))
        with closing(StudyStorage(default_url(root), create=True)) as storage:
            name = choose_study(storage, sweep, "digest", metrics, fork=False)
            study = optuna.load_study(study_name=name, storage=storage.optuna)
            study.set_user_attr("budget", sweep.settings.budget.trials)
            for key, value in (attributes or {}).items():
                study.set_user_attr(key, value)
            for one in trials:
                state = TrialState.RUNNING if one.outcome == "running" else STATES.get(one.outcome, TrialState.FAIL)
                settings = sweep.space.resolve(lambda key, of, one=one: one.params[of.key(key)])  # type: ignore[misc]
                attrs: dict[str, Any] = {"settings": settings, "steps": 100, "seconds": 60.0, **one.about}
                if state == TrialState.RUNNING:
                    attrs["worker"] = {**Identity.own()._asdict(), "beat": 0.0}
                else:
                    attrs["outcome"] = one.outcome
                study.add_trial(
                    create_trial(
                        state=state,
                        values=list(one.values) if state == TrialState.COMPLETE and one.values else None,
                        params=one.params,
                        distributions=sweep.space.distributions(one.params),
                        intermediate_values=one.curve,
                        user_attrs=attrs,
                    )
                )
            beside = optuna.load_study(study_name=baselines_of(name), storage=storage.optuna)
            if baseline is not None:
                trial = beside.ask()
                trial.set_user_attr("outcome", "ok")
                trial.set_user_attr("seconds", 30.0)
                beside.tell(trial, list(baseline))
        return Study(root, name)

    return make


def proposal(k: int | None, alpha: float | None, lr: float, ratio: float) -> dict[str, Any]:
    """A point of ``SPACE``; without k it has no Lookahead."""
    rates = {"optimizer.generator.lr": lr, "optimizer.discriminator.lr / optimizer.generator.lr": ratio}
    if k is None:
        return {"lookahead.kind": "none", **rates}
    return {"lookahead.kind": "joint", "lookahead.k": k, "lookahead.alpha": alpha, **rates}
