"""A sweep's page: what was found, how sure that is, what it depends on, and what it cost."""

from gossipgan.reports.sweep.files import Written, write

__all__ = ["Written", "write"]
