"""The git commit that a project stands at."""

import subprocess
from pathlib import Path

#: What a result depends on: a change elsewhere (a report, a lock file) does not make a commit unclean.
_SOURCES = ("src", "pipeline", "params.yaml", "dvc.yaml")


def commit_tags(root: Path) -> dict[str, str]:
    """Tags with the commit's hash and whether code or settings differ from it; none outside git."""
    head = _git(root, "rev-parse", "--verify", "HEAD")
    if head is None or head.returncode != 0:
        return {}
    commit = head.stdout.strip()
    changed = _git(root, "status", "--porcelain", "--", *_SOURCES)
    return {
        "gossipgan.git_commit": commit,
        "gossipgan.git_changed": str(changed is not None and bool(changed.stdout.strip())).lower(),
        "mlflow.source.git.commit": commit,
    }


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
