"""Taking the next trial: exactly one worker has it, and there are exactly as many as the budget allows."""

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gossipgan.config import Settings, fingerprint
from gossipgan.errors import UserError
from gossipgan.sweeps.processes import KNOWN, Identity
from gossipgan.sweeps.search import Sweep, build_pruner, build_sampler
from gossipgan.sweeps.study.storage import StudyStorage
from gossipgan.sweeps.study.study import baselines_of, recover

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

#: After so many proposals in a row that were known already, there is nothing new to be found.
_KNOWN_IN_A_ROW = 50


@dataclass(frozen=True)
class Claim:
    """A trial that this worker has.

    Attributes:
        baseline: the experiment, of a baseline.
        twin: number of an earlier trial of the same fingerprint that is running: its score will be this one's, too.
    """

    study: "Study"
    trial: "Trial"
    settings: Settings
    baseline: str | None
    twin: int | None

    @property
    def number(self) -> int:
        return self.trial.number

    @property
    def folder(self) -> str:
        """Name of its folder in the sweep's."""
        return f"trial-{self.number}" if self.baseline is None else f"baseline-{self.baseline}"


def claim(storage: StudyStorage, sweep: Sweep, name: str, trials: int | None, data_digest: str) -> Claim | None:
    """Take the next trial: a baseline, one that waits to be gone on with, an enqueued one, or a new proposal.

    A proposal that is known already is told its score here, and the next is taken.

    Args:
        name: the study's.
        trials: the budget; None: no limit of this kind.
        data_digest: of the prepared store, for fingerprints.

    Returns:
        None where nothing is left to take.
    """
    return storage.patiently(
        lambda: _claim(storage, sweep, name, trials, data_digest), first=lambda: _let_go(storage, name)
    )


def _claim(storage: StudyStorage, sweep: Sweep, name: str, trials: int | None, data_digest: str) -> Claim | None:
    import optuna

    while True:
        with storage.turn(name):
            baselines = optuna.load_study(study_name=baselines_of(name), storage=storage.optuna)
            if any(_waits(trial) for trial in baselines.get_trials(deepcopy=False)):
                trial = baselines.ask()
                baseline = str(trial.user_attrs["baseline"])
                settings = sweep.baseline_settings(baseline)
                _mark(trial, settings, sweep)
                return Claim(baselines, trial, settings, baseline, None)
            study = optuna.load_study(study_name=name, storage=storage.optuna)
            there = study.get_trials(deepcopy=False)
            if not _prepare(study, sweep, there, trials):
                return None
            study.sampler, study.pruner = build_sampler(sweep, _next_number(study)), build_pruner(sweep)
            trial = study.ask()
            taken = _settle(study, trial, sweep, data_digest)
            if taken is not None:
                return taken


def _next_number(study: "Study") -> int:
    """Of the trial that is asked for next: the first that waits, or else a new one."""
    there = study.get_trials(deepcopy=False)
    return next((trial.number for trial in there if _waits(trial)), len(there))


def _let_go(storage: StudyStorage, name: str) -> None:
    """Put back what this process has taken without knowing it: a claim was cut short."""
    import optuna

    with storage.turn(name):
        for study_name in (baselines_of(name), name):
            study = optuna.load_study(study_name=study_name, storage=storage.optuna)
            for trial in study.get_trials(deepcopy=False):
                if _owned(trial):
                    storage.set_waiting(study_name, trial.number)
    recover(storage, name)  # and what it had not yet put its name to


class Prospects(NamedTuple):
    """What a sweep has before it.

    Attributes:
        left: ``claim`` would find something.
        running: some trial is running, wherever.
    """

    left: bool
    running: bool


def prospects(storage: StudyStorage, sweep: Sweep, name: str, trials: int | None) -> Prospects:
    """Look at what is left and what is running at one moment."""
    return storage.patiently(lambda: _prospects(storage, sweep, name, trials))


def _prospects(storage: StudyStorage, sweep: Sweep, name: str, trials: int | None) -> Prospects:
    import optuna
    from optuna.trial import TrialState

    with storage.turn(name):
        baselines, there = (
            optuna.load_study(study_name=one, storage=storage.optuna).get_trials(deepcopy=False)
            for one in (baselines_of(name), name)
        )
    running = any(trial.state == TrialState.RUNNING for trial in (*baselines, *there))
    if any(map(_waits, baselines)) or any(_waits(trial) and _begun(trial) for trial in there):
        return Prospects(True, running)
    left = not _used_up(there) if trials is None else sum(map(counts, there)) < trials
    left = left and (
        sweep.settings.sampler.kind != "grid" or any(map(_waits, there)) or _next_of_grid(sweep, there) is not None
    )
    return Prospects(left, running)


def keep(storage: StudyStorage, taken: Claim, seconds: float) -> bool:
    """Give a sign of life, with the time spent on the trial so far.

    Returns:
        Whether the trial is still this process's: one that was silent for too long finds that another has taken it.
    """
    return storage.patiently(lambda: _keep(storage, taken, seconds))


def _keep(storage: StudyStorage, taken: Claim, seconds: float) -> bool:
    with storage.turn(taken.study.study_name.removesuffix(baselines_of(""))):
        if not _owned(taken.study.get_trials(deepcopy=False)[taken.number]):
            return False
        taken.trial.set_user_attr("worker", {**Identity.own()._asdict(), "beat": time.time()})
        taken.trial.set_user_attr("seconds", seconds)
        return True


def counts(trial: "FrozenTrial") -> bool:
    """Whether a trial counts towards the budget: it has been begun, and in this study."""
    return "from" not in trial.user_attrs and (not _waits(trial) or _begun(trial))


def tell_known(study: "Study", trial: "Trial", known: "FrozenTrial") -> None:
    """Tell a trial what a trial of the same fingerprint came to."""
    from optuna.trial import TrialState

    for key in ("outcome", "reason", "scores", "bytes"):
        if key in known.user_attrs:
            trial.set_user_attr(key, known.user_attrs[key])
    trial.set_user_attr("duplicate_of", known.number)
    told = study.get_trials(deepcopy=False)[trial.number].intermediate_values
    trial.set_user_attr("images", 0)  # it used none
    for step, value in known.intermediate_values.items():
        if step not in told:
            trial.report(value, step)
    if known.state == TrialState.PRUNED:
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, known.values)


def _prepare(study: "Study", sweep: Sweep, there: "list[FrozenTrial]", trials: int | None) -> bool:
    """Whether there is a trial to ask for; on a grid its next point is enqueued first."""
    if any(_waits(trial) and _begun(trial) for trial in there):
        return True
    if trials is not None and sum(map(counts, there)) >= trials:
        return False
    if sweep.settings.sampler.kind == "grid" and not any(map(_waits, there)):
        params = _next_of_grid(sweep, there)
        if params is None:
            return False
        study.enqueue_trial(params)
    return trials is not None or not _used_up(there)


def _used_up(there: "list[FrozenTrial]") -> bool:
    """Whether proposals have long brought nothing new: a small space has no more, and no number of trials ends it."""
    latest = sorted(there, key=lambda trial: trial.number)[-_KNOWN_IN_A_ROW:]
    return len(latest) == _KNOWN_IN_A_ROW and all("duplicate_of" in trial.user_attrs for trial in latest)


def _settle(study: "Study", trial: "Trial", sweep: Sweep, data_digest: str) -> Claim | None:
    """Settings of an asked trial; None where it has been told its outcome already."""
    from optuna.trial import TrialState

    values = sweep.space.resolve(lambda name, one: one.suggest(trial, name))
    trial.set_user_attr("settings", values)
    try:
        settings = sweep.trial_settings(values)
        runs = " ".join(fingerprint(settings, seed, data_digest) for seed in sweep.seeds)
    except UserError as error:
        trial.set_user_attr("outcome", "crashed")
        trial.set_user_attr("reason", str(error))
        study.tell(trial, state=TrialState.FAIL)
        return None
    _mark(trial, settings, sweep)
    identity = hashlib.sha256(runs.encode()).hexdigest()
    trial.set_user_attr("fingerprint", identity)
    twins = [
        one
        for one in study.get_trials(deepcopy=False)
        if one.number != trial.number and one.user_attrs.get("fingerprint") == identity
    ]
    for twin in twins:
        if twin.state.is_finished() and twin.user_attrs.get("outcome") in KNOWN:
            tell_known(study, trial, twin)
            return None
    # The later waits for the earlier, never the other way round.
    running = (twin.number for twin in twins if twin.state == TrialState.RUNNING and twin.number < trial.number)
    return Claim(study, trial, settings, None, next(running, None))


def _next_of_grid(sweep: Sweep, there: "list[FrozenTrial]") -> dict[str, Any] | None:
    grid = sweep.space.grid()
    assert grid is not None
    known = [trial.params or trial.system_attrs.get("fixed_params") for trial in there]
    return next((params for params in grid if params not in known), None)


def _mark(trial: "Trial", settings: Settings, sweep: Sweep) -> None:
    """Say who has a trial, and how long it is."""
    trial.set_user_attr("steps", settings.training.steps * len(sweep.seeds))
    trial.set_user_attr("worker", {**Identity.own()._asdict(), "beat": time.time()})


def _owned(trial: "FrozenTrial") -> bool:
    """Whether a trial is running, and this process has it."""
    from optuna.trial import TrialState

    stored = trial.user_attrs.get("worker")
    return trial.state == TrialState.RUNNING and stored is not None and Identity.read(stored) == Identity.own()


def _waits(trial: "FrozenTrial") -> bool:
    from optuna.trial import TrialState

    return trial.state == TrialState.WAITING


def _begun(trial: "FrozenTrial") -> bool:
    return "worker" in trial.user_attrs
