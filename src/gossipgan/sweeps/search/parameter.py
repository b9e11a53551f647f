"""One entry of a search space: what values a setting may take, and when it is searched."""

import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.distributions import BaseDistribution

#: A value that a setting can be given in a space.
Scalar = bool | int | float | str | None

#: The ways to say what values there are: exactly one stands in an entry (``ratio_of`` beside ``float``).
_KINDS = ("float", "int", "choices", "value", "same_as")


class Parameter(BaseModel):
    """Values of one setting. In the file a scalar alone is short for ``{value: ...}``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)

    float_: tuple[float, float] | None = Field(None, alias="float", description="lowest and highest, both included")
    int_: tuple[int, int] | None = Field(None, alias="int", description="lowest and highest, both included")
    log: bool = Field(False, description="float, int: evenly in the logarithm")
    step: float | None = Field(None, gt=0, description="float, int: distance of values; null: any float, 1 for int")
    choices: tuple[Scalar, ...] | None = Field(None, min_length=1, description="these, without an order")
    value: Scalar = Field(None, description="always this one")
    same_as: str | None = Field(None, description="the value of another setting")
    ratio_of: str | None = Field(None, description="float: a multiple of another setting, which stands here")
    when: dict[str, Any] = Field({}, description="searched only where other settings are so, or one of a list")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        names = {"float_": "float", "int_": "int"}
        given = [kind for name in self.model_fields_set if (kind := names.get(name, name)) in _KINDS]
        if len(given) != 1:
            raise ValueError(f"one of {', '.join(_KINDS)} is wanted, not {' and '.join(sorted(given)) or 'none'}")
        bounds = self.float_ or self.int_
        if bounds is None:
            if self.log or self.step is not None:
                raise ValueError("log and step go with float or int")
        else:
            self._check_bounds(*bounds)
        if self.ratio_of is not None and self.float_ is None:
            raise ValueError("ratio_of goes with float, the range of the ratio")
        if self.choices is not None and len({repr(choice) for choice in self.choices}) != len(self.choices):
            raise ValueError("choices: each once")
        return self

    def _check_bounds(self, low: float, high: float) -> None:
        if low > high:
            raise ValueError(f"lowest, then highest is wanted, not {low!r}, {high!r}")
        if self.log and low <= 0:
            raise ValueError("log: the lowest value must be above 0")
        if self.log and self.step is not None:
            raise ValueError("log or step, not both")
        if self.step is not None:
            if self.int_ is not None and self.step != int(self.step):
                raise ValueError("step: a whole number goes with int")
            if (Decimal(repr(high)) - Decimal(repr(low))) % Decimal(repr(self.step)) != 0:
                raise ValueError(f"step: from {low!r} steps of {self.step!r} do not end at {high!r}")

    @property
    def searched(self) -> bool:
        """Whether there is anything to choose."""
        return self.float_ is not None or self.int_ is not None or self.choices is not None

    @property
    def needs(self) -> tuple[str, ...]:
        """Settings whose values must be known first."""
        named = (self.same_as, self.ratio_of)
        return (*(name for name in named if name is not None), *self.when)

    def key(self, setting: str) -> str:
        """Optuna's name of it: the setting's, or ``one / other`` for a ratio."""
        return setting if self.ratio_of is None else f"{setting} / {self.ratio_of}"

    def options(self) -> list[Scalar] | None:
        """Every value in order; None where there are infinitely many."""
        if self.choices is not None:
            return list(self.choices)
        if self.int_ is not None:
            return list(range(self.int_[0], self.int_[1] + 1, int(self.step or 1)))
        if self.float_ is not None and self.step is not None:
            low, high, step = (Decimal(repr(number)) for number in (*self.float_, self.step))
            return [float(low + index * step) for index in range(int((high - low) / step) + 1)]
        if self.float_ is not None and self.float_[0] == self.float_[1]:
            return [self.float_[0]]
        return None

    def ends(self) -> list[Scalar]:
        """The values to try a setting's own limits with: both ends, or every choice."""
        return list(self.choices or self.float_ or self.int_ or ())

    def holds(self, value: Any) -> bool:
        """Whether a value is one of these."""
        if self.choices is not None:
            return any(_same(value, choice) for choice in self.choices)
        bounds = self.float_ or self.int_
        if bounds is None or isinstance(value, bool) or not isinstance(value, int | float):
            return False
        options = self.options()
        if options is not None:
            return any(isinstance(option, int | float) and abs(value - option) < 1e-12 for option in options)
        return bounds[0] <= value <= bounds[1]

    def distribution(self) -> "BaseDistribution":
        """As Optuna has it."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices is not None:
            return CategoricalDistribution(self.choices)
        if self.int_ is not None:
            return IntDistribution(*self.int_, log=self.log, step=int(self.step or 1))
        assert self.float_ is not None
        return FloatDistribution(*self.float_, log=self.log, step=self.step)

    def suggest(self, trial: "Trial", setting: str) -> Scalar:
        """Let Optuna choose."""
        key = self.key(setting)
        if self.choices is not None:
            return trial.suggest_categorical(key, self.choices)
        if self.int_ is not None:
            return trial.suggest_int(key, *self.int_, log=self.log, step=int(self.step or 1))
        assert self.float_ is not None
        return trial.suggest_float(key, *self.float_, log=self.log, step=self.step)

    def draw(self, chance: random.Random) -> Scalar:
        """A value at random, the ends as likely as all between them: for trying a space out."""
        options = self.options()
        if options is not None:
            return chance.choice(options)
        assert self.float_ is not None
        return chance.choice([*self.float_, chance.uniform(*self.float_)])


def _same(one: Any, other: Any) -> bool:
    """Equal, and both or neither a switch: to Python True is 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
