"""The schema of a sweep file, ``sweeps/NAME.yaml``."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gossipgan.config import Iterate
from gossipgan.sweeps.search.parameter import Parameter, Scalar

#: Settings by which trials may be shorter than their experiment: the length of a run, and what is noted on the way.
PACE = (
    "training.steps",
    "training.log_every",
    "training.evaluate_every",
    "training.sample_every",
    "training.checkpoint_every",
)

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def seconds(text: Any) -> float:
    """A duration such as ``90s``, ``15m``, ``2h`` or ``1h30m`` in seconds; a number is one of seconds.

    Raises:
        ValueError: anything else, or nothing.
    """
    if isinstance(text, int | float) and not isinstance(text, bool) and text > 0:
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(min|s|m|h|d)\s*", str(text))
    if not parts or "".join(re.split(r"\s+", str(text))) != "".join(number + unit for number, unit in parts):
        raise ValueError(f"a duration such as 90s, 15m or 2h is wanted, not {text!r}")
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if total <= 0:
        raise ValueError(f"a duration above 0 is wanted, not {text!r}")
    return total


Duration = Annotated[float, BeforeValidator(seconds)]


def _kind_alone(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


def _value_alone(value: Any) -> Any:
    return value if isinstance(value, dict | Parameter) else {"value": value}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Objective(_Part):
    """A number that a trial is judged by: the last score of its runs, as a mean over seeds."""

    metric: Literal["fid", "is", "kid", "precision", "recall", "bytes"] = Field(
        "fid", description="by the pipeline's ruler; bytes: sent by all learners of a run together"
    )
    direction: Literal["minimize", "maximize"] | None = Field(None, description="null: the metric's own")
    iterate: Iterate | None = Field(None, description="which generator; null: evaluation.headline; not of bytes")
    diverged: float | None = Field(
        None, description="told to the sampler for a diverged trial; null: the worst score that the sweep has seen"
    )

    @property
    def minimize(self) -> bool:
        """Whether less is better."""
        own = "maximize" if self.metric in ("is", "precision", "recall") else "minimize"
        return (self.direction or own) == "minimize"

    @model_validator(mode="after")
    def _bytes_are_the_runs(self) -> Self:
        if self.metric == "bytes" and self.iterate is not None:
            raise ValueError("iterate: bytes are sent by a run, whichever generator is judged; leave it out")
        return self


class Sampler(_Part):
    """Who proposes."""

    kind: Literal["tpe", "random", "grid", "gp", "cma-es", "nsga2"] = Field(
        "tpe", description="grid: every combination once, of a space that has finitely many"
    )
    seed: int = Field(0, ge=0, description="of the proposals")
    startup: int = Field(10, ge=1, description="proposals at random before it begins; nsga2: population")


class Pruner(_Part):
    """Who ends hopeless trials early, by the scores of their curves; of several seeds, by the first one's."""

    kind: Literal["hyperband", "median", "successive-halving", "patient", "none"] = Field(
        "hyperband", description="patient: ended where the curve has stopped getting better"
    )
    warmup: int = Field(0, ge=0, description="iterations in which nothing is ended (all but patient)")
    startup: int = Field(5, ge=0, description="median: finished trials before anything is ended")
    reduction: int = Field(3, ge=2, description="hyperband, successive-halving: one in so many goes on")
    patience: int = Field(2, ge=0, description="patient: scores without getting better")


class Budget(_Part):
    """When it ends: whichever comes first."""

    trials: int | None = Field(None, ge=1, description="in all, with any number of workers; baselines are extra")
    time: Duration | None = Field(None, description="of running, all starts together, such as 2h")
    device_hours: float | None = Field(None, gt=0, description="hours of all trials and baselines together")
    trial_time: Duration | None = Field(None, description="of one trial: it is ended then, as timed out")
    retries: int = Field(2, ge=0, description="new starts of a trial whose process was killed or could not write")


class SweepSettings(_Part):
    """A whole sweep file."""

    experiment: str | None = Field(None, description="what the space varies; null: the params file's baseline")
    space: dict[str, Annotated[Parameter, BeforeValidator(_value_alone)]] = Field(
        min_length=1, description="by dotted setting, such as lookahead.k: {int: [2, 20], log: true}"
    )
    objective: Objective = Field(Objective(), description="what trials are judged by")
    objectives: tuple[Objective, ...] | None = Field(
        None, min_length=2, description="several, instead of objective: trials of which no other is better in all"
    )
    sampler: Annotated[Sampler, BeforeValidator(_kind_alone)] = Sampler()
    pruner: Annotated[Pruner, BeforeValidator(_kind_alone)] = Pruner()
    seeds: tuple[Annotated[int, Field(ge=0)], ...] | None = Field(
        None,
        min_length=1,
        description="of a trial's runs, one after the other; a pruner compares the first's curve with the first's of "
        "other trials, and the score is the mean of all; null: the params file's first",
    )
    processes: int = Field(
        1,
        ge=1,
        description="of a trial's run, on this machine; its learners are dealt to them, and nothing else changes",
    )
    enqueue: tuple[str | dict[str, Scalar], ...] = Field(
        (), description="tried first: experiments by name, or settings by dotted key over the base experiment"
    )
    baselines: tuple[str, ...] | None = Field(
        None,
        description="experiments that are run beside the trials, at the space's fixed training settings; "
        "null: the params file's baseline",
    )
    budget: Budget = Budget()

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.sampler.kind != "grid" and (self.budget.trials or self.budget.time or self.budget.device_hours) is None:
            raise ValueError("budget: trials, time or device_hours is wanted, or the sweep never ends")
        if self.seeds is not None and len(set(self.seeds)) != len(self.seeds):
            raise ValueError("seeds: each once")
        if self.objectives is not None:
            if "objective" in self.model_fields_set:
                raise ValueError("objective or objectives is wanted, not both")
            if len({(one.metric, one.iterate) for one in self.objectives}) != len(self.objectives):
                raise ValueError("objectives: each once")
            if self.pruner.kind != "none":
                raise ValueError("pruner: trials of several objectives are not pruned; say pruner: none")
            if self.sampler.kind == "cma-es":
                raise ValueError("sampler: cma-es knows one objective; use tpe, gp, nsga2, random or grid")
        return self
