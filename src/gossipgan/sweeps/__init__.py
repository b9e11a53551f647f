"""Sweeps: a search space, a study, and workers that run its trials so that nothing is lost or run twice."""

from gossipgan.sweeps.export import export
from gossipgan.sweeps.file import Sweep, load_sweep
from gossipgan.sweeps.progress import describe_trial, report_sweep, summary
from gossipgan.sweeps.settings import SweepSettings, seconds
from gossipgan.sweeps.storage import StudyStorage, default_url
from gossipgan.sweeps.supervisor import Ended, Options, run_sweep
from gossipgan.sweeps.view import SweepView, TrialView, sweep_names, view

__all__ = [
    "Ended",
    "Options",
    "StudyStorage",
    "Sweep",
    "SweepSettings",
    "SweepView",
    "TrialView",
    "default_url",
    "describe_trial",
    "export",
    "load_sweep",
    "report_sweep",
    "run_sweep",
    "seconds",
    "summary",
    "sweep_names",
    "view",
]
