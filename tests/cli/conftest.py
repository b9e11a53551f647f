import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from gossipgan.cli import main


class Outcome(NamedTuple):
    """What a command left: its exit status and its two outputs."""

    status: int
    out: str
    err: str


Gossipgan = Callable[..., Outcome]


@pytest.fixture
def gossipgan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Gossipgan:
    """Runs ``gossipgan`` with the given arguments, in this process."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["gossipgan", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        status = end.value.code
        assert status is None or isinstance(status, int)
        return Outcome(status or 0, captured.out, captured.err)

    return run
