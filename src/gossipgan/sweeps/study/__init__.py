"""What is known of a sweep: its study in a database, who takes which trial, and what that looks like from outside."""

from gossipgan.sweeps.study.claim import Claim, claim, keep, prospects, tell_known
from gossipgan.sweeps.study.export import export
from gossipgan.sweeps.study.fork import fork_sweep
from gossipgan.sweeps.study.storage import StudyStorage, default_url, shown
from gossipgan.sweeps.study.study import baselines_of, check_unchanged, choose_study, held, recover
from gossipgan.sweeps.study.view import OPEN, ObjectiveView, Onlooker, Show, SweepView, TrialView, sweep_names, view

__all__ = [
    "OPEN",
    "Claim",
    "ObjectiveView",
    "Onlooker",
    "Show",
    "StudyStorage",
    "SweepView",
    "TrialView",
    "baselines_of",
    "check_unchanged",
    "choose_study",
    "claim",
    "default_url",
    "export",
    "fork_sweep",
    "held",
    "keep",
    "prospects",
    "recover",
    "shown",
    "sweep_names",
    "tell_known",
    "view",
]
