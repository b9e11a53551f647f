"""Sweeps: a search space, a study, and workers that run its trials so that nothing is lost or run twice."""

from gossipgan.sweeps.ahead import clear_ahead, train_ahead
from gossipgan.sweeps.confirmation import Arm, Confirmation, Confirmed, ConfirmOptions, Tuning, confirm
from gossipgan.sweeps.devices import deal
from gossipgan.sweeps.export import export
from gossipgan.sweeps.file import Sweep, load_sweep
from gossipgan.sweeps.follow import follow_sweep
from gossipgan.sweeps.fork import fork_sweep
from gossipgan.sweeps.jobs_progress import report_jobs
from gossipgan.sweeps.mirror import sync_sweep
from gossipgan.sweeps.progress import (
    describe_settings,
    describe_trial,
    describe_values,
    duration,
    report_sweep,
    summary,
)
from gossipgan.sweeps.settings import SweepSettings, seconds
from gossipgan.sweeps.storage import StudyStorage, default_url
from gossipgan.sweeps.supervisor import Ended, Options, run_sweep, work_on_sweep
from gossipgan.sweeps.view import ObjectiveView, SweepView, TrialView, sweep_names, view

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
