"""What is measured."""

from typing import Literal, Self

from pydantic import Field, model_validator

from gossipgan.config.settings.section import Count, Section

Iterate = Literal["fast", "slow", "ema", "ema-slow", "uniform"]
Metric = Literal["fid", "is", "kid", "prc"]


class EvaluationSettings(Section):
    """What is measured, on which weights, over how many samples."""

    metrics: tuple[Metric, ...] = Field(
        ("fid", "is", "kid", "prc"), min_length=1, description="prc: precision and recall"
    )
    iterates: tuple[Iterate, ...] = Field(
        ("fast", "slow", "ema", "ema-slow", "uniform"),
        min_length=1,
        description="which generators are scored; those a method lacks are left out",
    )
    headline: Iterate = Field("ema", description="the iterate that curves, best checkpoints and comparisons show")
    samples: int = Field(2000, ge=100, le=1_000_000, description="generated pictures a score is computed from")
    batch: Count = Field(250, description="pictures in a batch of sampling and feature extraction")
    noise_seed: int = Field(0, ge=0, description="seed of the noise, the same for every run")
    batch_norm: Literal["recompute", "running"] = Field(
        "recompute",
        description="statistics of G's batch norms: recomputed for the weights that are scored, "
        "or as training left them",
    )
    kid_subsets: Count = Field(100, description="KID: subsets drawn")
    kid_subset_size: int = Field(1000, ge=2, description="KID: pictures in a subset")
    neighbours: Count = Field(3, description="precision/recall: k of the nearest neighbours")
    learners: bool = Field(
        True, description="of several learners, score also each one's own generator and all together"
    )

    @model_validator(mode="after")
    def _headline_is_scored(self) -> Self:
        if self.headline not in self.iterates:
            raise ValueError(f"headline: {self.headline} is not among evaluation.iterates")
        if "kid" in self.metrics and self.kid_subset_size > self.samples:
            raise ValueError(f"kid_subset_size: at most evaluation.samples ({self.samples})")
        return self
