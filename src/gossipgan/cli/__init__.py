"""The command line: ``gossipgan``."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gossipgan.errors import UserError

#: Exit status of a program that Ctrl-C ended: 128 + SIGINT.
_INTERRUPTED = 130


def main() -> None:
    """Run ``gossipgan`` with the process's arguments; always ends in SystemExit.

    Status 0: done; 1: what the command says of itself; 2: a mistake in what was given, said in one line;
    130: interrupted.
    """
    with report_mistakes():
        from gossipgan.cli.app import app

        app()


@contextmanager
def report_mistakes() -> Iterator[None]:
    """Turn a person's mistake into one line on stderr and status 2, and Ctrl-C into one line and status 130."""
    try:
        yield
    except UserError as error:
        sys.stderr.write(f"gossipgan: error: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        _exit_interrupted()
    except SystemExit as end:
        # typer turns Ctrl-C inside a command into this status, without a word.
        if end.code == _INTERRUPTED:
            _exit_interrupted()
        raise


def _exit_interrupted() -> None:
    sys.stderr.write("gossipgan: interrupted; the same command goes on where a run was checkpointed\n")
    sys.exit(_INTERRUPTED)
