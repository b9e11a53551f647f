"""Lookahead-minmax."""

from typing import Literal, Self

from pydantic import Field, model_validator

from gossipgan.config.settings.section import Count, Section


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
