"""Networks and losses."""

from typing import Literal, Self

from pydantic import Field, model_validator

from gossipgan.config.settings.section import Section


class GameSettings(Section):
    """The networks of the two players and their losses."""

    network: Literal["dcgan", "resnet32", "biggan32"] = Field("dcgan", description="pair of networks, by name")
    width: int = Field(
        16,
        ge=4,
        le=1024,
        description="channels: dcgan's discriminator starts at width (paper: 64); resnet32's has width (paper: 128); "
        "biggan32's networks have 4 times width (published: 64)",
    )
    classes: int = Field(
        0,
        ge=0,
        le=100_000,
        description="0: unconditional; n: G is told one of n classes, which D judges too (resnet32, biggan32)",
    )
    latent: int = Field(64, ge=1, le=4096, description="length of the noise vector z")
    loss: Literal["nonsaturating", "hinge", "wgan-gp"] = Field("nonsaturating", description="losses of the players")
    gradient_penalty: float = Field(10.0, ge=0, description="wgan-gp: weight of the gradient penalty")
    discriminator_norm: Literal["spectral", "batch", "none"] = Field(
        "spectral", description="normalisation in the discriminator (resnet32, biggan32: spectral or none)"
    )

    @model_validator(mode="after")
    def _norm_fits(self) -> Self:
        if self.loss == "wgan-gp" and self.discriminator_norm == "batch":
            raise ValueError(
                "discriminator_norm: batch couples the pictures of a batch, which wgan-gp's penalty on "
                "each picture rules out; use none or spectral"
            )
        if self.network != "dcgan" and self.discriminator_norm == "batch":
            raise ValueError(f"discriminator_norm: {self.network} knows spectral or none")
        return self

    @model_validator(mode="after")
    def _classes_fit(self) -> Self:
        if self.classes == 1:
            raise ValueError("classes: one class tells the players nothing; use 0, or 2 or more")
        if self.classes and self.network == "dcgan":
            raise ValueError("classes: dcgan is unconditional; use 0, or network: resnet32 or biggan32")
        return self
