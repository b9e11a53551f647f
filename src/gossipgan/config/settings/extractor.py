"""The ruler."""

from typing import Annotated, Literal

from pydantic import Field

from gossipgan.config.settings.section import Count, Section


class ExtractorSettings(Section):
    """The ruler: whose features FID, IS, KID and precision/recall are measured on."""

    kind: Literal["classifier", "inception"] = Field(
        "classifier",
        description="classifier: a small CNN trained on the prepared data; inception: torch-fidelity's",
    )
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*$")] = Field(
        "digits", description="the classifier's name inside metric names, such as fid_digits_2000_ema"
    )
    width: int = Field(32, ge=4, le=512, description="channels of the classifier's first layer")
    features: int = Field(64, ge=8, le=2048, description="length of the classifier's feature vector")
    epochs: Count = Field(12, description="passes over the training split")
    batch: Count = Field(128, description="pictures in a step of the classifier's training")
    lr: float = Field(3e-3, gt=0, description="peak learning rate of the classifier's training")
    shift: int = Field(2, ge=0, le=8, description="random shift of a training picture, in pixels at most")
    seed: int = Field(0, ge=0, description="seed of the classifier's training")
    weights: str | None = Field(None, description="inception: file of weights; null: downloaded by torch-fidelity")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None, description="inception: what the file of weights must hash to"
    )
