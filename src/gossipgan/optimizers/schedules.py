"""Learning-rate schedules: a factor on the learning rate, as a function of the iteration alone.

With progress p = iteration / steps from 0 to 1 and the share f that is left at the end:

    constant      1
    linear        1 + p (f - 1)
    cosine        f + (1 - f) (1 + cos(pi p)) / 2
    exponential   f^p

and in the first ``warmup`` iterations times (iteration + 1) / warmup.
"""

import math
from collections.abc import Callable

from gossipgan.config import PlayerSettings

_SHAPES: dict[str, Callable[[float, float], float]] = {
    "constant": lambda progress, final: 1.0,
    "linear": lambda progress, final: 1.0 + progress * (final - 1.0),
    "cosine": lambda progress, final: final + (1.0 - final) * (1.0 + math.cos(math.pi * progress)) / 2.0,
    "exponential": lambda progress, final: final**progress,
}


def rate_factor(settings: PlayerSettings, iteration: int, steps: int) -> float:
    """What the learning rate is multiplied by.

    Args:
        settings: schedule, final and warmup are read.
        iteration: from 0.
        steps: iterations of the whole run.
    """
    factor = _SHAPES[settings.schedule](iteration / steps, settings.final)
    return factor * min(1.0, (iteration + 1) / settings.warmup) if settings.warmup else factor
