"""Runs that are known beforehand, made several at a time."""

from gossipgan.sweeps.jobs.ahead import clear_ahead, train_ahead
from gossipgan.sweeps.jobs.jobs import Ended, Job, JobsView, Ruling, ShowJobs, forking_runs, run_jobs

__all__ = [
    "Ended",
    "Job",
    "JobsView",
    "Ruling",
    "ShowJobs",
    "clear_ahead",
    "forking_runs",
    "run_jobs",
    "train_ahead",
]
