"""Which pictures."""

from typing import Literal

from pydantic import Field

from gossipgan.config.settings.section import Count, Placement, Section


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
