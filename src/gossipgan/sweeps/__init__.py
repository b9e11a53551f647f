"""Sweeps: a search space, a study, and workers that run its trials so that nothing is lost or run twice."""

from gossipgan.sweeps.confirmation import Arm, Confirmation, Confirmed, ConfirmOptions, Tuning, confirm
from gossipgan.sweeps.jobs import clear_ahead, train_ahead
from gossipgan.sweeps.mirror import follow_sweep, sync_sweep
from gossipgan.sweeps.progress import (
    describe_settings,
    describe_trial,
    describe_values,
    duration,
    report_jobs,
    report_sweep,
    summary,
)
from gossipgan.sweeps.search import Sweep, SweepSettings, load_sweep, seconds
from gossipgan.sweeps.study import (
    ObjectiveView,
    StudyStorage,
    SweepView,
    TrialView,
    default_url,
    export,
    fork_sweep,
    sweep_names,
    view,
)
from gossipgan.sweeps.workers import Ended, Options, deal, run_sweep, work_on_sweep

__all__ = [
    "Arm",
    "ConfirmOptions",
    "Confirmation",
    "Confirmed",
    "Ended",
    "ObjectiveView",
    "Options",
    "StudyStorage",
    "Sweep",
    "SweepSettings",
    "SweepView",
    "TrialView",
    "Tuning",
    "clear_ahead",
    "confirm",
    "deal",
    "default_url",
    "describe_settings",
    "describe_trial",
    "describe_values",
    "duration",
    "export",
    "follow_sweep",
    "fork_sweep",
    "load_sweep",
    "report_jobs",
    "report_sweep",
    "run_sweep",
    "seconds",
    "summary",
    "sweep_names",
    "sync_sweep",
    "train_ahead",
    "view",
    "work_on_sweep",
]
