"""All sections of one experiment together, and what of one must fit another."""

from typing import Self

from pydantic import Field, model_validator

from gossipgan.config.settings.averaging import AveragingSettings
from gossipgan.config.settings.data import DataSettings
from gossipgan.config.settings.evaluation import EvaluationSettings, Iterate
from gossipgan.config.settings.extractor import ExtractorSettings
from gossipgan.config.settings.game import GameSettings
from gossipgan.config.settings.lookahead import LookaheadSettings
from gossipgan.config.settings.mixing import MixingSettings
from gossipgan.config.settings.optimizer import OptimizerSettings
from gossipgan.config.settings.section import Placement, Section
from gossipgan.config.settings.tracking import TrackingSettings
from gossipgan.config.settings.training import TrainingSettings


class Settings(Section):
    """One experiment's resolved settings: everything in ``params.yaml`` but seeds and experiments."""

    data: DataSettings = DataSettings()
    extractor: ExtractorSettings = ExtractorSettings()
    game: GameSettings = GameSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    lookahead: LookaheadSettings = LookaheadSettings()
    averaging: AveragingSettings = AveragingSettings()
    mixing: MixingSettings = MixingSettings()
    training: TrainingSettings = TrainingSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    tracking: TrackingSettings = Field(TrackingSettings(), json_schema_extra=Placement)

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        allowed = {"dcgan": (28, 32, 64), "resnet32": (32,), "biggan32": (32,)}[self.game.network]
        if self.data.size not in allowed:
            raise ValueError(
                f"data.size: {self.game.network} makes pictures of {' or '.join(map(str, allowed))} pixels, "
                f"not {self.data.size}"
            )
        return self

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        if self.training.compile and self.game.loss == "wgan-gp":
            raise ValueError(
                "training.compile: wgan-gp's penalty is differentiated twice, which torch.compile does not support; "
                "set it to false, or use another loss"
            )
        return self

    @model_validator(mode="after")
    def _lookahead_fits(self) -> Self:
        lookahead, optimizer = self.lookahead, self.optimizer
        if lookahead.kind == "alternating" and optimizer.update == "simultaneous":
            raise ValueError(
                "lookahead.kind: alternating backtracks inside each player's step, which a simultaneous update takes "
                "as one; use joint, or optimizer.update: alternating"
            )
        if lookahead.kind != "none" and lookahead.moments != "keep" and not optimizer.has_moments:
            raise ValueError(
                f"lookahead.moments: {optimizer.name} without momentum has no moments to {lookahead.moments}; use keep"
            )
        averaging = self.averaging
        if averaging.ema_slow_decay is not None and lookahead.kind == "none":
            raise ValueError("averaging.ema_slow_decay: there are no slow steps without lookahead; use null")
        if (
            averaging.ema_slow_decay is not None
            and averaging.ema_slow_at == "super-slow"
            and lookahead.kind != "nested"
        ):
            raise ValueError("averaging.ema_slow_at: super-slow steps are those of lookahead.kind: nested; use slow")
        return self

    @model_validator(mode="after")
    def _mixing_fits(self) -> Self:
        mixing, lookahead = self.mixing, self.lookahead
        one_moment = lookahead.kind in ("joint", "nested") and lookahead.discriminator_k is None
        if mixing.gossips and mixing.mixes != "fast" and not one_moment:
            raise ValueError(
                f"mixing.mixes: {mixing.mixes} needs slow weights of both players at one moment, so lookahead.kind "
                "joint or nested without discriminator_k; or use fast"
            )
        if mixing.gossips and mixing.moments == "mix" and not self.optimizer.has_moments:
            raise ValueError(f"mixing.moments: {self.optimizer.name} without momentum has no moments to mix; use keep")
        return self

    @model_validator(mode="after")
    def _budget_fits(self) -> Self:
        steps = self.training.steps
        for player in ("generator", "discriminator"):
            if getattr(self.optimizer, player).warmup >= steps:
                raise ValueError(f"optimizer.{player}.warmup: must end before training.steps ({steps})")
        if self.averaging.uniform_from is not None and self.averaging.uniform_from >= steps:
            raise ValueError(f"averaging.uniform_from: must begin before training.steps ({steps})")
        return self

    @model_validator(mode="after")
    def _headline_exists(self) -> Self:
        if self.evaluation.headline not in self.iterates:
            raise ValueError(
                f"evaluation.headline: this method has no {self.evaluation.headline} iterate; "
                f"it has {', '.join(self.iterates)}"
            )
        return self

    @property
    def iterates(self) -> tuple[Iterate, ...]:
        """The iterates of G that are asked for and that this method has."""
        exists: dict[Iterate, bool] = {
            "fast": True,
            "slow": self.lookahead.kind != "none",
            "ema": self.averaging.decay is not None,
            "ema-slow": self.averaging.ema_slow_decay is not None,
            "uniform": self.averaging.uniform_from is not None,
        }
        return tuple(name for name in self.evaluation.iterates if exists[name])
