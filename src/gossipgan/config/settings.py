"""The settings of an experiment, as typed models: the schema of ``params.yaml``.

One class a section, in the order in which the pipeline meets them. Every field says its unit or
range in its description; ``gossipgan config schema`` prints them all. Unknown keys are refused.

A field marked ``Placement`` says where or how often something happens, not what is computed; it
stays out of the fingerprint (the data's digest, which is in it, says what the pictures are).
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

Iterate = Literal["fast", "slow", "ema"]
Metric = Literal["fid", "is", "kid", "prc"]

#: Marks a field that does not change what is computed, so that it is not fingerprinted.
Placement: dict[str, Any] = {"fingerprint": False}

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A section of ``params.yaml``: immutable, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        # To Python True is 1, so that `steps: true` would be one step.
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise PydanticCustomError("not_a_switch", "this setting is not a switch")
        return value


class DataSettings(Section):
    """Which pictures, at what size, and how they are split."""

    source: Literal["mnist-sample", "mnist", "cifar10", "svhn", "images", "npz"] = Field(
        "mnist-sample", description="where the pictures come from; mnist-sample needs no network"
    )
    path: str | None = Field(
        None,
        description="folder, zip or npz to read; for mnist, cifar10, svhn a folder with torchvision's files",
        json_schema_extra=Placement,
    )
    size: int = Field(28, ge=8, le=1024, description="height and width of the prepared pictures, in pixels")
    channels: Literal[1, 3] = Field(1, description="1: grey, 3: RGB")
    resize: bool = Field(
        False,
        description="scale the shorter side to size (antialiased) and crop the centre; else sizes must agree",
    )
    held_out: Count | None = Field(
        None,
        description="pictures kept from training; null: the source's own test split, or else a fifth of all",
    )
    limit: Count | None = Field(None, description="at most so many training pictures; null: all")
    split_seed: int = Field(0, ge=0, description="seed of the split, for sources without their own")
    skip_bad: bool = Field(False, description="leave unreadable pictures out, counted and listed, instead of stopping")
    download: bool = Field(
        True,
        description="fetch mnist, cifar10 or svhn where they are not found under path",
        json_schema_extra=Placement,
    )


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


class GameSettings(Section):
    """The networks of the two players and their losses."""

    network: Literal["dcgan", "resnet32"] = Field("dcgan", description="pair of networks, by name")
    width: int = Field(
        16,
        ge=4,
        le=1024,
        description="channels: dcgan's discriminator starts at width (paper: 64); resnet32's has width (paper: 128)",
    )
    latent: int = Field(64, ge=1, le=4096, description="length of the noise vector z")
    loss: Literal["nonsaturating", "hinge", "wgan-gp"] = Field("nonsaturating", description="losses of the players")
    gradient_penalty: float = Field(10.0, ge=0, description="wgan-gp: weight of the gradient penalty")
    discriminator_norm: Literal["spectral", "batch", "none"] = Field(
        "spectral", description="normalisation in the discriminator (resnet32: spectral or none)"
    )

    @model_validator(mode="after")
    def _norm_fits(self) -> Self:
        if self.loss == "wgan-gp" and self.discriminator_norm == "batch":
            raise ValueError(
                "discriminator_norm: batch couples the pictures of a batch, which wgan-gp's penalty on "
                "each picture rules out; use none or spectral"
            )
        if self.network == "resnet32" and self.discriminator_norm == "batch":
            raise ValueError("discriminator_norm: resnet32 knows spectral or none")
        return self


class PlayerSettings(Section):
    """Step sizes of one player."""

    lr: float = Field(1e-3, gt=0, le=10, description="learning rate")
    beta1: float = Field(0.5, ge=-0.99, lt=1, description="decay of the first moment (adam)")
    beta2: float = Field(0.999, ge=0, lt=1, description="decay of the second moment (adam)")
    eps: float = Field(1e-8, gt=0, description="added to the root of the second moment (adam)")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty added to the gradient")


class OptimizerSettings(Section):
    """The base method: how the players take their fast steps."""

    name: Literal["adam"] = Field("adam", description="optimizer of both players")
    update: Literal["alternating", "simultaneous"] = Field(
        "alternating",
        description="alternating: D, then G against the new D; simultaneous: one joint gradient at one point",
    )
    d_steps: int = Field(1, ge=1, le=100, description="D steps, on fresh batches, for each G step")
    generator: PlayerSettings = Field(PlayerSettings(), description="step sizes of G")
    discriminator: PlayerSettings = Field(PlayerSettings(), description="step sizes of D")

    @model_validator(mode="after")
    def _one_joint_gradient(self) -> Self:
        if self.update == "simultaneous" and self.d_steps != 1:
            raise ValueError("d_steps: a simultaneous update evaluates one joint gradient, so d_steps must be 1")
        return self


class LookaheadSettings(Section):
    """Lookahead-minmax (ICLR 2021): every k steps, backtrack both players towards their slow weights."""

    kind: Literal["none", "joint"] = Field("none", description="joint: both players backtrack at the same moment")
    k: Count = Field(
        5, description="fast steps in a cycle, in iterations (one iteration: d_steps D-steps and a G-step)"
    )
    alpha: float = Field(0.5, gt=0, le=1, description="slow step size: slow += alpha (fast - slow)")


class AveragingSettings(Section):
    """Averages of the generator's weights along the run."""

    ema_half_life: float | None = Field(
        100.0,
        gt=0,
        description="iterations after which a weight's share in the EMA has halved; null: see ema_decay",
    )
    ema_decay: float | None = Field(None, ge=0, lt=1, description="EMA decay an iteration, instead of a half-life")
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


class MixingSettings(Section):
    """What the learners of a run exchange."""

    kind: Literal["none"] = Field("none", description="none: learners do not exchange anything")
    learners: Literal[1] = Field(1, description="copies of the two players")


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


class EvaluationSettings(Section):
    """What is measured, on which weights, over how many samples."""

    metrics: tuple[Metric, ...] = Field(
        ("fid", "is", "kid", "prc"), min_length=1, description="prc: precision and recall"
    )
    iterates: tuple[Iterate, ...] = Field(
        ("fast", "slow", "ema"),
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

    @model_validator(mode="after")
    def _headline_is_scored(self) -> Self:
        if self.headline not in self.iterates:
            raise ValueError(f"headline: {self.headline} is not among evaluation.iterates")
        if "kid" in self.metrics and self.kid_subset_size > self.samples:
            raise ValueError(f"kid_subset_size: at most evaluation.samples ({self.samples})")
        return self


class TrackingSettings(Section):
    """MLflow, as a view of the journals."""

    mlflow: bool = Field(True, description="write runs to MLflow", json_schema_extra=Placement)
    uri: str | None = Field(
        None, description="MLflow's store; null: MLFLOW_TRACKING_URI, or else mlflow.db beside params.yaml"
    )
    experiment: str = Field("gossipgan", min_length=1, description="MLflow experiment")


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
        allowed = {"dcgan": (28, 32, 64), "resnet32": (32,)}[self.game.network]
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
        }
        return tuple(name for name in self.evaluation.iterates if exists[name])
