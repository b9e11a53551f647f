"""A sweep's best settings run again on fresh seeds, beside the baseline."""

from gossipgan.sweeps.confirmation.confirm import Confirmation, Confirmed, confirm
from gossipgan.sweeps.confirmation.plan import Arm, ConfirmOptions, Tuning

__all__ = [
    "Arm",
    "ConfirmOptions",
    "Confirmation",
    "Confirmed",
    "Tuning",
    "confirm",
]
