"""A sweep's best settings and its baseline run on fresh seeds, as planned, and what they came to."""

from pathlib import Path
from typing import NamedTuple

from gossipgan.config import ParamsFile, fingerprint
from gossipgan.errors import UserError
from gossipgan.runs import Project, alone
from gossipgan.sweeps.confirmation.plan import Arm, ConfirmOptions, Plan, Tuning, plan_confirmation
from gossipgan.sweeps.jobs import Job, Ruling, ShowJobs, forking_runs, run_jobs
from gossipgan.sweeps.search import Grounds, check_project


class Confirmed(NamedTuple):
    """An arm that has been run: its scores by seed, None where it diverged, and then why."""

    arm: Arm
    scores: dict[int, float | None]
    reasons: dict[int, str]


class Confirmation(NamedTuple):
    """What the fresh runs came to.

    Attributes:
        metric: full name of the score.
        images: real pictures that each run was to see.
        candidates: the sweep's best settings, best by the sweep first.
        baselines: the first is what the candidates are held against.
        against: the sweep that tuned the baseline, if one did.
        candidates_tuning, baseline_tuning: what went into either choice.
    """

    sweep: str
    metric: str
    minimize: bool
    seeds: tuple[int, ...]
    images: int
    candidates: tuple[Confirmed, ...]
    baselines: tuple[Confirmed, ...]
    against: str | None
    candidates_tuning: Tuning
    baseline_tuning: Tuning


def confirm(options: ConfirmOptions, params: ParamsFile, show: ShowJobs) -> Confirmation:
    """Run the best settings of a sweep, and its baseline, on fresh seeds; go on where it was.

    Must be called in the main thread, before this process has threads or a device: runs are forked from it.

    Raises:
        UserError: in one line, before anything starts, where there is nothing to confirm or images cannot be made
            equal; or at the end, where a run could not be made.
    """
    from gossipgan.data import Store

    root = params.path.parent.resolve()
    digest = Store.open(Project(root).prepared, verify=False).digest  # its files are compared below
    plan = plan_confirmation(options, params, digest)
    folder = root / "work" / "sweeps" / options.sweep / "confirm"
    places = [*((arm, arm.name) for arm in plan.candidates), *((arm, f"baseline-{arm.name}") for arm in plan.baselines)]
    jobs: dict[str, Job] = {}
    for seed in plan.seeds:  # so that what is compared is done together
        for arm, place in places:
            identity = fingerprint(arm.settings, seed, digest)
            path = folder / place.replace("/", "-") / f"seed-{seed}-{identity[:12]}"
            jobs.setdefault(identity, Job(arm.name, arm.settings, seed, identity, path))
    with forking_runs() as nursery:
        settings = plan.sweep.settings
        processes = settings.processes if options.devices else 1
        _check_extractors(plan, check_project(plan.sweep, root, options.devices, processes), root)
        ruling = Ruling(
            root=root,
            metric=plan.metric,
            from_journal=plan.sweep.from_journal,
            workers=options.workers,
            retries=settings.budget.retries,
            devices=options.devices,
            processes=processes,
        )
        with alone(folder, "gossipgan sweep confirm"):
            ended = run_jobs(list(jobs.values()), ruling, nursery, show)

    def confirmed(arm: Arm) -> Confirmed:
        runs = {seed: ended[fingerprint(arm.settings, seed, digest)] for seed in plan.seeds}
        reasons = {seed: one.reason for seed, one in runs.items() if one.reason is not None}
        return Confirmed(arm, {seed: one.score for seed, one in runs.items()}, reasons)

    return Confirmation(
        sweep=options.sweep,
        metric=plan.metric,
        minimize=plan.minimize,
        seeds=plan.seeds,
        images=plan.images,
        candidates=tuple(map(confirmed, plan.candidates)),
        baselines=tuple(map(confirmed, plan.baselines)),
        against=options.against,
        candidates_tuning=plan.candidates_tuning,
        baseline_tuning=plan.baseline_tuning,
    )


def _check_extractors(plan: Plan, grounds: Grounds, root: Path) -> None:
    """See that scores on fresh seeds are by the ruler that the search was by."""
    for name, extractor in plan.extractors.items():
        if extractor is not None and extractor != grounds.extractor:
            raise UserError(
                f"{root / 'extractor'}: another extractor ({grounds.extractor[:12]}) than {name} was judged by "
                f"({extractor[:12]}); put that back, or run the sweep again under another name"
            )
