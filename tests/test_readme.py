"""The README's program does what it says."""

import re
from pathlib import Path
from typing import Any

import torch

README = Path(__file__).parents[1] / "README.md"


def test_the_loop_of_ones_own_trains_with_lookahead() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(program.splitlines()) <= 30
    assert "range(2000)" in program
    torch.manual_seed(1)
    found: dict[str, Any] = {}
    exec(compile(program.replace("range(2000)", "range(1003)"), str(README), "exec"), found)

    lookahead, generator = found["lookahead"], found["generator"]
    assert lookahead.fast_steps == 1003
    # Three steps into a cycle the slow weights are elsewhere than the fast ones.
    assert not torch.equal(lookahead.slow(0)["0.weight"], generator[0].weight)
    # It is learning how dark the pictures are: -.74 in the mean; before training it was near 0.
    with torch.no_grad():
        pictures = generator(torch.randn(500, 64))
    assert abs(float(pictures.mean()) - float(found["pictures"].mean())) < 0.2
