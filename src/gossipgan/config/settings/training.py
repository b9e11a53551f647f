"""The budget, and how the loop runs."""

from typing import Literal

from pydantic import Field

from gossipgan.config.settings.section import Count, Placement, Section


class TrainingSettings(Section):
    """The budget, and how the loop runs on the machine."""

    steps: Count = Field(2000, description="iterations, that is updates of G")
    batch: int = Field(64, ge=1, le=65536, description="pictures in a batch of one learner")
    device: str = Field(
        "auto",
        pattern=r"^(auto|cpu|cuda(:\d+)?)$",
        description="auto, cpu, cuda or cuda:N",
        json_schema_extra=Placement,
    )
    threads: int = Field(
        2, ge=1, le=1024, description="CPU threads; results on a CPU are bitwise equal at equal threads"
    )
    precision: Literal["float32", "bf16"] = Field(
        "float32", description="bf16: autocast of the networks' forward passes"
    )
    channels_last: bool = Field(True, description="memory format of pictures and convolution weights")
    compile: bool = Field(False, description="run the networks through torch.compile")
    log_every: Count = Field(50, description="iterations between journal entries of the losses")
    evaluate_every: Count = Field(
        500, description="iterations between scores for the curve and for the best checkpoint"
    )
    sample_every: Count = Field(500, description="iterations between sample grids")
    checkpoint_every: Count = Field(250, description="iterations between checkpoints", json_schema_extra=Placement)
    divergence_window: Count = Field(
        500, description="iterations with D's loss at its lower bound after which the run counts as diverged"
    )
