"""What is searched, and how: the sweep file with its space, sampler and pruner, checked before anything starts."""

from gossipgan.sweeps.search.file import Sweep, load_sweep
from gossipgan.sweeps.search.grounds import Grounds, check_devices, check_project
from gossipgan.sweeps.search.optimizer import build_pruner, build_sampler, check_optimizer
from gossipgan.sweeps.search.settings import PACE, Objective, SweepSettings, seconds
from gossipgan.sweeps.search.topologies import check_topologies

__all__ = [
    "PACE",
    "Grounds",
    "Objective",
    "Sweep",
    "SweepSettings",
    "build_pruner",
    "build_sampler",
    "check_devices",
    "check_optimizer",
    "check_project",
    "check_topologies",
    "load_sweep",
    "seconds",
]
