"""A sweep in MLflow, as it is now or while it runs."""

from gossipgan.sweeps.mirror.follow import follow_sweep
from gossipgan.sweeps.mirror.record import Recorder, sync_sweep

__all__ = [
    "Recorder",
    "follow_sweep",
    "sync_sweep",
]
