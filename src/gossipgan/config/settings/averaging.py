"""Averages of the generator's weights."""

from typing import Literal, Self

from pydantic import Field, model_validator

from gossipgan.config.settings.section import Section


class AveragingSettings(Section):
    """Averages of the generator's weights along the run."""

    ema_half_life: float | None = Field(
        100.0,
        gt=0,
        description="iterations after which a weight's share in the EMA has halved; null: see ema_decay",
    )
    ema_decay: float | None = Field(None, ge=0, lt=1, description="EMA decay an iteration, instead of a half-life")
    ema_slow_decay: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="EMA-slow: decay a slow step of Lookahead, at which alone it is updated; null: none",
    )
    ema_slow_at: Literal["slow", "super-slow"] = Field(
        "slow", description="super-slow: EMA-slow is updated at the outer backtracks of a nested Lookahead alone"
    )
    uniform_from: int | None = Field(
        None, ge=0, description="iterations before the plain average of all later weights begins; null: none"
    )
    buffers: Literal["copy", "average"] = Field(
        "copy",
        description="batch-norm statistics of an average: copied from the fast weights, or averaged too",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.ema_half_life is not None and self.ema_decay is not None:
            raise ValueError("ema_decay: give ema_half_life or ema_decay, and null for the other")
        return self

    @property
    def decay(self) -> float | None:
        """EMA decay an iteration, or None where no EMA is kept."""
        return 0.5 ** (1.0 / self.ema_half_life) if self.ema_half_life is not None else self.ema_decay
