"""MLflow as a view of the run directories: filled from them, and can always be filled again."""

from gossipgan.tracking.method import describe_method
from gossipgan.tracking.pipeline import pipeline_parent
from gossipgan.tracking.run import mirror_run
from gossipgan.tracking.series import METRICS_AT_ONCE, by_images, final, read_clock
from gossipgan.tracking.show import show_run
from gossipgan.tracking.store import Mirrored, quiet_environment, resolve_uri, without_password
from gossipgan.tracking.sweep import ShownSweep, SweepMirror, SweepRecord
from gossipgan.tracking.sync import Synced, sync
from gossipgan.tracking.trial import SeedRun, SweepTrial

__all__ = [
    "METRICS_AT_ONCE",
    "Mirrored",
    "SeedRun",
    "ShownSweep",
    "SweepMirror",
    "SweepRecord",
    "SweepTrial",
    "Synced",
    "by_images",
    "describe_method",
    "final",
    "mirror_run",
    "pipeline_parent",
    "quiet_environment",
    "read_clock",
    "resolve_uri",
    "show_run",
    "sync",
    "without_password",
]
