"""What learners exchange, with whom, and at what cost.

Graphs, matrices and costs are here by name; what needs torch is imported from its own module, so that a graph can be
looked at without waiting for it.
"""

from gossipgan.mixing.links import Link
from gossipgan.mixing.schedule import Matchings, Periodic, Rows, Schedule
from gossipgan.mixing.spectrum import Spectrum
from gossipgan.mixing.topologies import TOPOLOGIES, build_schedule

__all__ = [
    "TOPOLOGIES",
    "Link",
    "Matchings",
    "Periodic",
    "Rows",
    "Schedule",
    "Spectrum",
    "build_schedule",
]
