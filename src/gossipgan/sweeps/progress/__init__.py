"""What a person sees of a sweep, and of known runs, while they go on."""

from gossipgan.sweeps.progress.jobs import report_jobs
from gossipgan.sweeps.progress.sweep import (
    describe_settings,
    describe_trial,
    describe_values,
    duration,
    report_sweep,
    summary,
)

__all__ = [
    "describe_settings",
    "describe_trial",
    "describe_values",
    "duration",
    "report_jobs",
    "report_sweep",
    "summary",
]
