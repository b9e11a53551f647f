"""A sweep in MLflow, as it is now or while it runs."""

from gossipgan.sweeps.mirror.follow import follow_sweep
from gossipgan.sweeps.mirror.record import read_record, sync_sweep

__all__ = [
    "follow_sweep",
    "read_record",
    "sync_sweep",
]
