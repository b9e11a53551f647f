"""Learning-rate schedules against torch's own schedulers."""

from typing import Any

import pytest
import torch

from gossipgan.config import PlayerSettings
from gossipgan.optimizers import rate_factor

STEPS, FINAL = 50, 0.1


def _torch_factors(schedule: str) -> list[float]:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedulers: dict[str, Any] = {
        "constant": lambda: torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0),
        "linear": lambda: torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, FINAL, total_iters=STEPS),
        "cosine": lambda: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS, eta_min=FINAL),
        "exponential": lambda: torch.optim.lr_scheduler.ExponentialLR(optimizer, FINAL ** (1 / STEPS)),
    }
    scheduler = schedulers[schedule]()
    factors = []
    for _ in range(STEPS):
        factors.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return factors


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "exponential"])
def test_factors_are_those_of_torch(schedule: str) -> None:
    settings = PlayerSettings.model_validate({"schedule": schedule, "final": FINAL})
    mine = [rate_factor(settings, iteration, STEPS) for iteration in range(STEPS)]
    assert mine == pytest.approx(_torch_factors(schedule), rel=1e-9)


def test_warm_up_rises_linearly_and_then_leaves_the_schedule_alone() -> None:
    plain = PlayerSettings.model_validate({"schedule": "cosine"})
    warm = plain.model_copy(update={"warmup": 4})
    ratios = [rate_factor(warm, i, STEPS) / rate_factor(plain, i, STEPS) for i in range(8)]
    assert ratios == pytest.approx([0.25, 0.5, 0.75, 1, 1, 1, 1, 1])
