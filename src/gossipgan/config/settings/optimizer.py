"""The base method."""

from typing import Literal, Self

from pydantic import Field, model_validator

from gossipgan.config.settings.section import Section


class PlayerSettings(Section):
    """Step sizes of one player."""

    lr: float = Field(1e-3, gt=0, le=10, description="learning rate")
    momentum: float = Field(0.0, gt=-1, lt=1, description="heavy-ball momentum, negative too (sgd, extragradient)")
    beta1: float = Field(0.5, gt=-1, lt=1, description="decay of the first moment, negative too (adam, radam, oadam)")
    beta2: float = Field(0.999, ge=0, lt=1, description="decay of the second moment (adam, radam, oadam)")
    eps: float = Field(1e-8, gt=0, description="added to the root of the second moment (adam, radam, oadam)")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty: weight_decay times the weights joins the gradient")
    clip_norm: float | None = Field(
        None, gt=0, description="longest gradient, in Euclidean norm; longer ones are scaled down; null: any"
    )
    schedule: Literal["constant", "linear", "cosine", "exponential"] = Field(
        "constant", description="how the learning rate goes from lr to final times lr over training.steps"
    )
    final: float = Field(0.01, ge=0, le=1, description="learning rate at the end, as a share of lr")
    warmup: int = Field(0, ge=0, description="first iterations, in which the learning rate rises linearly to lr")

    @model_validator(mode="after")
    def _exponential_has_an_end(self) -> Self:
        if self.schedule == "exponential" and self.final == 0:
            raise ValueError("final: an exponential schedule never reaches 0; give a share above 0")
        return self


OptimizerName = Literal["sgd", "adam", "radam", "oadam", "omd", "extragradient", "extra-adam", "dposg"]

#: Methods whose gradients are taken at an extrapolated pair of players.
_EXTRAPOLATING = ("extragradient", "extra-adam", "dposg")
#: Methods that know heavy-ball momentum.
_WITH_MOMENTUM = ("sgd", "extragradient")
#: Methods with moments of Adam's kind.
_WITH_BETAS = ("adam", "radam", "oadam", "extra-adam")


class OptimizerSettings(Section):
    """The base method: how the players take their fast steps."""

    name: OptimizerName = Field(
        "adam",
        description="optimizer of both players; oadam: optimistic Adam; omd: optimistic gradient; "
        "dposg: the decentralized paper's recursion",
    )
    update: Literal["alternating", "simultaneous"] = Field(
        "alternating",
        description="alternating: D, then G against the new D; simultaneous: one joint gradient at one point",
    )
    d_steps: int = Field(1, ge=1, le=100, description="D steps, on fresh batches, for each G step")
    extrapolation: Literal["shared", "own"] = Field(
        "shared",
        description="moments of the extrapolation (extragradient, extra-adam): the step's, or its own",
    )
    generator: PlayerSettings = Field(PlayerSettings(), description="step sizes of G")
    discriminator: PlayerSettings = Field(PlayerSettings(), description="step sizes of D")

    @model_validator(mode="after")
    def _one_joint_gradient(self) -> Self:
        if self.update == "simultaneous" and self.d_steps != 1:
            raise ValueError("d_steps: a simultaneous update evaluates one joint gradient, so d_steps must be 1")
        if self.name in _EXTRAPOLATING and self.update != "simultaneous":
            raise ValueError(
                f"update: {self.name} evaluates one joint gradient at the extrapolated pair, "
                "so update must be simultaneous"
            )
        return self

    @model_validator(mode="after")
    def _moments_are_used(self) -> Self:
        for player in ("generator", "discriminator"):
            if getattr(self, player).momentum and self.name not in _WITH_MOMENTUM:
                raise ValueError(
                    f"{player}.momentum: {self.name} has no heavy-ball momentum "
                    f"({' and '.join(_WITH_MOMENTUM)} have); use 0"
                )
        if self.extrapolation == "own" and not (self.name in _EXTRAPOLATING and self.has_moments):
            raise ValueError("extrapolation: own moments are for extra-adam, and for extragradient with momentum")
        return self

    @property
    def has_moments(self) -> bool:
        """Whether the steps of either player remember earlier gradients in moments."""
        return self.name in _WITH_BETAS or bool(self.generator.momentum or self.discriminator.momentum)

    @property
    def batches(self) -> int:
        """Batches of real pictures, by a learner in one iteration."""
        return 2 if self.name in ("extragradient", "extra-adam") else self.d_steps
