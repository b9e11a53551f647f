"""A run's directory: its files, its journal, its environment."""

from gossipgan.runs.ahead import mark_ahead, read_ahead
from gossipgan.runs.alone import alone
from gossipgan.runs.directory import RunDirectory, sha256
from gossipgan.runs.dvc import run_dvc
from gossipgan.runs.environment import code_digest, describe_environment
from gossipgan.runs.files import atomic, write_atomic, write_json
from gossipgan.runs.journal import Journal, JournalReader, read_journal
from gossipgan.runs.project import Project
from gossipgan.runs.publish import publish

__all__ = [
    "Journal",
    "JournalReader",
    "Project",
    "RunDirectory",
    "alone",
    "atomic",
    "code_digest",
    "describe_environment",
    "mark_ahead",
    "publish",
    "read_ahead",
    "read_journal",
    "run_dvc",
    "sha256",
    "write_atomic",
    "write_json",
]
