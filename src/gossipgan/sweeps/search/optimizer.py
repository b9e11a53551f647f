"""Optuna's samplers and pruners, as a sweep file asks for them."""

import hashlib
import warnings
from typing import TYPE_CHECKING

from gossipgan.errors import UserError
from gossipgan.sweeps.search.file import Sweep

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler


def build_sampler(sweep: Sweep, number: int) -> "BaseSampler":
    """The sampler of one proposal.

    It is made anew for each, seeded by the trial's number: so proposals do not depend on how often the sweep was
    interrupted, and no two trials are proposed from the same draws.

    Args:
        number: of the trial that it is for.
    """
    import optuna

    _accept_experimental()
    settings = sweep.settings.sampler
    seed = int.from_bytes(hashlib.sha256(f"{settings.seed} {number}".encode()).digest()[:4], "big")
    samplers = optuna.samplers
    match settings.kind:
        case "tpe":
            return samplers.TPESampler(
                n_startup_trials=settings.startup,
                multivariate=True,
                group=True,  # conditional settings are modelled together with those that they depend on
                seed=seed,
            )
        case "gp":
            return samplers.GPSampler(n_startup_trials=settings.startup, seed=seed, warn_independent_sampling=False)
        case "cma-es":
            return samplers.CmaEsSampler(n_startup_trials=settings.startup, seed=seed, warn_independent_sampling=False)
        case "nsga2":
            return samplers.NSGAIISampler(population_size=max(2, settings.startup), seed=seed)
        case _:
            # A grid is walked by the claims; there is nothing left to propose.
            return samplers.RandomSampler(seed=seed)


def build_pruner(sweep: Sweep) -> "BasePruner":
    """The pruner, with the iterations of the curves as its resource."""
    from optuna import pruners

    _accept_experimental()
    settings, training = sweep.settings.pruner, sweep.base.training
    fixed = sweep.settings.space.get("training.evaluate_every")
    every = fixed.value if fixed is not None and isinstance(fixed.value, int) else training.evaluate_every
    first = max(settings.warmup, every)
    match settings.kind:
        case "hyperband":
            steps = sweep.most("training.steps")
            return pruners.HyperbandPruner(
                min_resource=min(first, steps), max_resource=steps, reduction_factor=settings.reduction
            )
        case "successive-halving":
            return pruners.SuccessiveHalvingPruner(min_resource=first, reduction_factor=settings.reduction)
        case "median":
            return pruners.MedianPruner(n_startup_trials=settings.startup, n_warmup_steps=settings.warmup)
        case "patient":
            return pruners.PatientPruner(None, patience=settings.patience)
        case "none":
            return pruners.NopPruner()


def check_optimizer(sweep: Sweep) -> None:
    """Make both once, so that what they lack is said before anything starts.

    Raises:
        UserError: a package that a sampler needs is not installed, or settings that it refuses.
    """
    import importlib.util

    if sweep.settings.sampler.kind == "cma-es" and importlib.util.find_spec("cmaes") is None:
        raise UserError(f"{sweep.path}: sampler: cma-es needs the package cmaes; install it, or use tpe")
    build_sampler(sweep, 0)
    build_pruner(sweep)


def _accept_experimental() -> None:
    """Say nothing of parts that Optuna marks as experimental, and has for years: TPE's `group`, the patient pruner."""
    from optuna.exceptions import ExperimentalWarning

    warnings.filterwarnings("ignore", category=ExperimentalWarning)
