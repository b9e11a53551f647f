"""Commands of the product from a process that has imported what is heavy, which takes longer than most of them.

Each command is a process of its own all the same: with its arguments, folder, environment and outputs, and it ends as
it always does. What starts in any other way starts cold: each command's first time, the pipeline's stages, the
processes of a run, and commands that a test interrupts or kills.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

#: The product's command, as it is installed.
GOSSIPGAN = str(Path(sys.executable).parent / "gossipgan")


class _Request(NamedTuple):
    """A command, and the files that its outputs go to."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    out: str
    err: str


class Warm:
    """The tests' end: starts the process at its first command; that ends with the tests."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, command: list[str], folder: Path, environment: dict[str, str], timeout: float
    ) -> "subprocess.CompletedProcess[str]":
        """Run ``gossipgan`` with the arguments of a command; as ``subprocess.run`` does."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__],
                env=environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as outputs:
            out, err = Path(outputs, "out"), Path(outputs, "err")
            request = _Request(command[1:], str(folder), environment, str(out), str(err))
            print(json.dumps(request), file=self._process.stdin, flush=True)
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                self._process.kill()  # and with it the command
                self._process = None
                raise subprocess.TimeoutExpired(command, timeout)
            status = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(command, status, out.read_text(), err.read_text())

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()  # nothing more is asked of it


def _serve() -> None:
    """The process: imports, and then makes one process after the other of itself."""
    import optuna  # noqa: F401
    import torch_fidelity  # noqa: F401

    import gossipgan.evaluation
    import gossipgan.sweeps
    import gossipgan.training  # noqa: F401

    assert "mlflow" not in sys.modules, "it reads the environment that a command sets before it imports it"
    for line in sys.stdin:
        server = os.getpid()
        child = os.fork()
        if child == 0:
            _be(_Request(*json.loads(line)), server)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201


def _be(request: _Request, server: int) -> None:
    """Be the command; ends in SystemExit."""
    from gossipgan.cli import main
    from gossipgan.runs.parent import die_with_parent

    die_with_parent(server)
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    for number, path in enumerate((os.devnull, request.out, request.err)):
        opened = os.open(path, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = [GOSSIPGAN, *request.arguments]
    main()


if __name__ == "__main__":
    _serve()
