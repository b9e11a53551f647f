"""A params file and sweep files of tests."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from gossipgan.config import load_params
from gossipgan.sweeps import Sweep, load_sweep

PARAMS = """
training: {steps: 100}
seeds: [3, 4]
experiments:
  baseline: {}          # what all are compared with
  gossip: {mixing: {kind: gossip, learners: 4}}
"""

MakeSweep = Callable[[str], Sweep]


@pytest.fixture
def make_sweep(tmp_path: Path) -> MakeSweep:
    """From the text of a sweep file to the sweep, over a params file of two experiments."""
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "sweeps").mkdir()

    def make(text: str) -> Sweep:
        path = tmp_path / "sweeps" / "some.yaml"
        path.write_text(textwrap.dedent(text))
        return load_sweep(path, load_params(tmp_path / "params.yaml"))

    return make
