"""A sweep's winner in the pipeline."""

import json
import re
from pathlib import Path

import pytest

from .conftest import run
from .sweeping import trials_of, write

pytestmark = pytest.mark.system

TINY = """
space:
  lookahead.kind: joint
  lookahead.k: {int: [2, 9]}
  optimizer.generator.lr: {float: [1e-4, 1e-2], log: true}
  optimizer.discriminator.lr: {same_as: optimizer.generator.lr}
sampler: random
pruner: none
baselines: []
budget: {trials: 2}
"""


def test_dvc_repro_gives_the_exported_winners_score_to_the_last_bit(project: Path) -> None:
    write(project, "tiny", TINY)
    run("gossipgan sweep run sweeps/tiny.yaml --workers 2", project)
    best = json.loads(run("gossipgan sweep best tiny --json", project).stdout)
    (other,) = (one for one in trials_of(project, "tiny") if one.number != best["number"])
    run("gossipgan sweep export tiny --as winner", project)
    run(f"gossipgan sweep export tiny --as second --trial {other.number}", project)
    done = run("dvc repro evaluate@winner-1 evaluate@second-1", project)
    ran = set(re.findall(r"Running stage '([^']+)'", done.stdout))
    assert ran == {f"{stage}@{name}-1" for stage in ("train", "evaluate") for name in ("winner", "second")}
    for name, score in (("winner", best["score"]), ("second", other.score)):
        metrics = json.loads((project / f"metrics/{name}/seed-1.json").read_text())
        assert metrics["fid_digits_200_ema"] == score
