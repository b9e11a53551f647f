"""What the sections of ``params.yaml`` have in common."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

#: Marks a field that does not change what is computed, so that it is not fingerprinted.
Placement: dict[str, Any] = {"fingerprint": False}

#: Marks a field that names a file: what the file holds is fingerprinted, not how it is called.
Content: dict[str, Any] = {"fingerprint": "content"}

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
