"""Processes that train: how they are made, how they end, and what their runs have said of themselves so far."""

from gossipgan.sweeps.processes.kin import Identity, kill_group
from gossipgan.sweeps.processes.nursery import Nursery
from gossipgan.sweeps.processes.outcome import KNOWN, Outcome, count_oom_kills, outcome_of_exit
from gossipgan.sweeps.processes.trial import RunRequest, import_training, run_trial
from gossipgan.sweeps.processes.watch import CurveReader, Spent, SpentReader, last_line, read_curve, read_spent, worst

__all__ = [
    "KNOWN",
    "CurveReader",
    "Identity",
    "Nursery",
    "Outcome",
    "RunRequest",
    "Spent",
    "SpentReader",
    "count_oom_kills",
    "import_training",
    "kill_group",
    "last_line",
    "outcome_of_exit",
    "read_curve",
    "read_spent",
    "run_trial",
    "worst",
]
