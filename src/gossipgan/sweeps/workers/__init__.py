"""Those who run the trials, on this machine or in a cluster, and the supervisor that watches over them."""

from gossipgan.sweeps.workers.devices import deal
from gossipgan.sweeps.workers.start import Options, run_sweep, work_on_sweep
from gossipgan.sweeps.workers.supervisor import Ended

__all__ = [
    "Ended",
    "Options",
    "deal",
    "run_sweep",
    "work_on_sweep",
]
