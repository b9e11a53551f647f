"""The settings of an experiment, as typed models: the schema of ``params.yaml``.

One class a section, in the order in which the pipeline meets them. Every field says its unit or
range in its description; ``gossipgan config schema`` prints them all. Unknown keys are refused.

A field marked ``Placement`` says where or how often something happens, not what is computed; it
stays out of the fingerprint (the data's digest, which is in it, says what the pictures are).
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

Iterate = Literal["fast", "slow", "ema", "ema-slow", "uniform"]
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


class LookaheadSettings(Section):
    """Lookahead-minmax (ICLR 2021): every k steps, backtrack the players towards their slow weights."""

    kind: Literal["none", "joint", "alternating", "nested"] = Field(
        "none",
        description="joint: both players backtrack at the same moment; alternating: each inside its own step; "
        "nested: joint, inside a second, slower Lookahead",
    )
    k: Count = Field(
        5, description="fast steps in a cycle, in iterations (one iteration: d_steps D-steps and a G-step)"
    )
    k_max: Count | None = Field(
        None, description="random k: each cycle's length is drawn from k to k_max, for both players; null: always k"
    )
    discriminator_k: Count | None = Field(
        None, description="D's own k (alternating: in steps of D); null: D's k is k, too"
    )
    alpha: float = Field(0.5, gt=0, le=1, description="slow step size: slow += alpha (fast - slow)")
    super_k: Count = Field(50, description="nested: fast steps in a cycle of the outer Lookahead, a multiple of k")
    super_alpha: float = Field(0.5, gt=0, le=1, description="nested: slow step size of the outer Lookahead")
    moments: Literal["keep", "reset", "pullback"] = Field(
        "keep",
        description="the optimizers' moments at a backtrack: kept (paper's code), begun anew, "
        "or pulled back as weights are",
    )
    buffers: Literal["keep", "average"] = Field(
        "keep", description="batch-norm statistics at a backtrack: kept (paper's code), or pulled back as weights are"
    )

    @model_validator(mode="after")
    def _cycles_fit(self) -> Self:
        if self.k_max is not None and self.k_max < self.k:
            raise ValueError(f"k_max: a random k is drawn from k to k_max, so at least k ({self.k})")
        if self.k_max is not None and self.discriminator_k is not None:
            raise ValueError(
                "discriminator_k: a random k is one draw for both players; leave discriminator_k or k_max out"
            )
        if self.kind == "nested":
            if self.k_max is not None or self.discriminator_k is not None:
                raise ValueError(
                    "kind: nested cycles have one fixed k for both players; leave k_max and discriminator_k out"
                )
            if self.super_k % self.k:
                raise ValueError(f"super_k: the outer backtrack follows an inner one, so a multiple of k ({self.k})")
        return self


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


TopologyName = Literal[
    "ring",
    "line",
    "star",
    "complete",
    "grid",
    "torus",
    "hypercube",
    "exponential",
    "symmetric-exponential",
    "one-peer-exponential",
    "random-matching",
    "random-regular",
    "erdos-renyi",
    "small-world",
    "custom",
]

#: Kinds of mixing in which neighbours exchange weights.
_GOSSIP = ("gossip", "stale-gossip")
#: Wires that compress the difference to what neighbours know, with error feedback.
ERROR_FEEDBACK_WIRES = ("int8", "topk")


class MixingSettings(Section):
    """The learners of a run, and what they exchange: gradients, or weights with their neighbours."""

    kind: Literal["none", "allreduce", "server", "gossip", "stale-gossip"] = Field(
        "none",
        description="allreduce, server: all step by the mean gradient, which is centralized training; "
        "gossip: weights are averaged with neighbours; stale-gossip: with what neighbours sent one exchange earlier, "
        "which travels while the next iteration computes",
    )
    learners: int = Field(
        1, ge=1, le=10_000, description="copies of the two players, each with its shard of the pictures"
    )
    topology: TopologyName = Field("ring", description="gossip: who exchanges with whom; see gossipgan topology")
    weights: Literal["auto", "uniform", "metropolis", "max-degree", "given"] = Field(
        "auto", description="gossip: rule of the mixing matrix; auto: uniform on regular graphs, else metropolis"
    )
    degree: Count | None = Field(None, description="random-regular, small-world: neighbours of a learner")
    probability: float | None = Field(
        None, ge=0, le=1, description="erdos-renyi: of a link; small-world: of a link's being rewired"
    )
    topology_seed: int = Field(0, ge=0, description="seed of random graphs and matchings")
    file: str | None = Field(None, description="custom: file of edges or of a weight matrix")
    rounds: int = Field(1, ge=1, le=1000, description="gossip: rounds in a mix (t of the decentralized paper)")
    period: Count = Field(1, description="gossip: iterations between mixes; more than 1: local steps")
    discriminator_topology: TopologyName | None = Field(None, description="gossip: D's own topology; null: the same")
    discriminator_rounds: int | None = Field(None, ge=1, le=1000, description="gossip: D's own rounds; null: the same")
    mixes: Literal["fast", "slow", "both"] = Field(
        "fast",
        description="gossip: fast weights after fast steps, slow weights after a backtrack of Lookahead, or both",
    )
    moments: Literal["keep", "mix"] = Field(
        "keep", description="gossip: moments of the optimizers stay local, or are mixed"
    )
    buffers: Literal["keep", "mix"] = Field(
        "keep", description="gossip: batch-norm statistics stay local, or are mixed"
    )
    wire: Literal["float32", "bf16", "fp16", "int8", "topk"] = Field(
        "float32", description="gossip: format of the messages; int8 and topk with error feedback (CHOCO-gossip)"
    )
    topk: float = Field(0.05, gt=0, le=1, description="wire topk: share of the numbers that is sent")
    gamma: float = Field(0.5, gt=0, le=1, description="wires int8, topk: consensus step size of CHOCO-gossip")
    shards: Literal["iid", "by-class", "dirichlet", "by-size"] = Field(
        "iid",
        description="how pictures are dealt to learners: evenly; each its own classes; classes in shares drawn from a "
        "Dirichlet distribution; or learner i i + 1 parts",
    )
    dirichlet: float = Field(0.5, gt=0, description="shards dirichlet: concentration; the smaller, the less alike")
    timeout: float = Field(
        30.0,
        ge=1,
        description="seconds that a process waits for another before the run ends",
        json_schema_extra=Placement,
    )

    @model_validator(mode="after")
    def _wire_fits(self) -> Self:
        if self.wire in ERROR_FEEDBACK_WIRES and (
            self.topology in ("one-peer-exponential", "random-matching")
            or self.discriminator_topology in ("one-peer-exponential", "random-matching")
        ):
            raise ValueError(
                f"wire: {self.wire}'s error feedback needs neighbours that stay the same; use float32, bf16 or fp16"
            )
        if self.wire in ERROR_FEEDBACK_WIRES and (self.moments, self.buffers) != ("keep", "keep"):
            raise ValueError(f"wire: {self.wire}'s error feedback is for weights; use moments: keep and buffers: keep")
        if self.kind == "stale-gossip":
            if self.rounds != 1 or self.discriminator_rounds not in (None, 1):
                raise ValueError("rounds: stale gossip has one round under way at a time; use 1")
            if self.wire in ERROR_FEEDBACK_WIRES:
                raise ValueError(f"wire: {self.wire} is for kind: gossip; stale gossip knows float32, bf16 and fp16")
            if self.mixes != "fast":
                raise ValueError("mixes: stale gossip mixes fast weights; use fast")
        return self

    @property
    def gossips(self) -> bool:
        """Whether learners exchange weights with neighbours."""
        return self.kind in _GOSSIP


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
