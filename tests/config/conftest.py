from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def params(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a params.yaml of the given text."""

    def write(text: str) -> Path:
        path = tmp_path / "params.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
