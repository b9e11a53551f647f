"""DVC's commands in a project."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO


def run_dvc(
    root: Path, *command: str, stdout: int | IO[str] | None = None, stderr: int | IO[str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run DVC of this environment; its use is reported to nobody.

    Stages say ``python``, and find this interpreter.

    Args:
        root: the folder of ``dvc.yaml``.
        stdout, stderr: as ``subprocess.run`` takes them; None: this process's.

    Returns:
        How it ended, whatever its status.
    """
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    return subprocess.run(
        [sys.executable, "-m", "dvc", *command],
        cwd=root,
        env={**os.environ, "PATH": path, "DVC_NO_ANALYTICS": "true"},
        stdout=stdout,
        stderr=stderr,
        text=True,
        check=False,
    )
