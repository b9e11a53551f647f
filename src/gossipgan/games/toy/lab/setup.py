"""What is played: the part that all games have in common, which is the method and how long it plays."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gossipgan.errors import UserError
from gossipgan.games.toy.contraction import measured
from gossipgan.games.toy.game import Array
from gossipgan.games.toy.lab.outcome import Outcome
from gossipgan.games.toy.lookahead import LookaheadSettings
from gossipgan.games.toy.methods import ADAM_METHODS, GRADIENT_METHODS, Method

#: A name with this in front is Lookahead over the method behind it.
LOOKAHEAD_PREFIX = "la-"

BASE_METHODS = (*GRADIENT_METHODS, *ADAM_METHODS)
METHODS = (*BASE_METHODS, *(LOOKAHEAD_PREFIX + name for name in BASE_METHODS))

_K, _ALPHA, _SUPER_ALPHA = 6, 0.5, 0.5
_BETA1, _BETA2 = 0.9, 0.999


@dataclass(frozen=True)
class Setup(ABC):
    """A method on a game at several seeds. Checked where it is made: UserError says what is wrong and what is right.

    Attributes:
        method: one of ``methods``.
        eta: step size, above 0.
        k, alpha: of Lookahead (defaults 6 and .5); only with a method named la-.
        super_k, super_alpha: of the nested Lookahead (super_k a multiple of k; super_alpha .5 if not given).
        beta1, beta2: of Adam (defaults .9 and .999); beta1 in (-1, 1), beta2 in [0, 1); only with Adam methods.
        passes: how long is played: in evaluations of each player's gradient, or in passes over a game's samples.
        seeds: how many plays, with seeds 0, 1, ...; each has draws of its own.
    """

    game: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = METHODS

    method: str
    eta: float
    k: int | None = None
    alpha: float | None = None
    super_k: int | None = None
    super_alpha: float | None = None
    beta1: float | None = None
    beta2: float | None = None
    passes: int = 300
    seeds: int = 5

    @abstractmethod
    def run(self) -> Outcome:
        """Play it at all its seeds."""

    @abstractmethod
    def check_game(self) -> None:
        """Raise UserError where the game's own settings are not right."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """The game and its settings, for the title of a picture."""

    @property
    @abstractmethod
    def own(self) -> dict[str, Any]:
        """The game's own settings, plain values."""

    def __post_init__(self) -> None:
        if self.method not in self.methods:
            raise UserError(f"--method {self.method}: unknown; allowed are {', '.join(self.methods)}")
        check("--eta", self.eta, lambda v: v > 0, "above 0")
        for name, count in (("--passes", self.passes), ("--seeds", self.seeds)):
            check(name, count, lambda v: v >= 1, "at least 1")
        self._check_lookahead()
        self._check_betas()
        self.check_game()
        if self.iterations < 1:
            raise UserError(
                f"--passes {self.passes}: not enough for one iteration of {self.method}, "
                f"which takes {float(self.passes_an_iteration):g} passes"
            )

    def _check_lookahead(self) -> None:
        given = {
            "--k": self.k,
            "--alpha": self.alpha,
            "--super-k": self.super_k,
            "--super-alpha": self.super_alpha,
        }
        if not self.method.startswith(LOOKAHEAD_PREFIX):
            with_lookahead = LOOKAHEAD_PREFIX + self.method
            way_out = f"use --method {with_lookahead}" if with_lookahead in self.methods else "leave it out"
            for name, value in given.items():
                if value is not None:
                    raise UserError(f"{name}: {self.method} has no Lookahead; {way_out}")
            return
        if self.k is not None:
            check("--k", self.k, lambda v: v >= 1, "at least 1")
        for name, share in (("--alpha", self.alpha), ("--super-alpha", self.super_alpha)):
            if share is not None:
                check(name, share, lambda v: 0 < v <= 1, "above 0 and at most 1")
        k = self.k or _K
        if self.super_k is not None:
            check("--super-k", self.super_k, lambda v: v >= k and v % k == 0, f"a multiple of --k, which is {k}")
        elif self.super_alpha is not None:
            raise UserError("--super-alpha: only for the nested Lookahead; give --super-k too")

    def _check_betas(self) -> None:
        if self.base in ADAM_METHODS:
            if self.beta1 is not None:
                check("--beta1", self.beta1, lambda v: -1 < v < 1, "above -1 and below 1")
            if self.beta2 is not None:
                check("--beta2", self.beta2, lambda v: 0 <= v < 1, "at least 0 and below 1")
            return
        for name, beta in (("--beta1", self.beta1), ("--beta2", self.beta2)):
            if beta is not None:
                raise UserError(f"{name}: {self.method} has no such number; only {' and '.join(ADAM_METHODS)} have")

    @property
    def base(self) -> str:
        """The method's name without Lookahead."""
        return self.method.removeprefix(LOOKAHEAD_PREFIX)

    @property
    def lookahead(self) -> LookaheadSettings | None:
        if not self.method.startswith(LOOKAHEAD_PREFIX):
            return None
        return LookaheadSettings(
            k=self.k or _K,
            alpha=self.alpha or _ALPHA,
            super_k=self.super_k,
            super_alpha=self.super_alpha or _SUPER_ALPHA,
        )

    @property
    def cycle(self) -> int:
        """Iterations of a cycle: 1 without Lookahead, k with it, super_k nested."""
        return 1 if self.lookahead is None else self.lookahead.cycle

    @property
    def cycle_in_words(self) -> str:
        return "an iteration" if self.cycle == 1 else f"a cycle of {self.cycle} iterations"

    @property
    def extrapolations(self) -> int:
        """Evaluations of the joint gradient in an iteration, beyond the one of its update."""
        return self.build().extrapolations

    @property
    def passes_an_iteration(self) -> Fraction:
        return Fraction(1 + self.extrapolations)

    @property
    def iterations(self) -> int:
        """Whole iterations that the passes pay for."""
        return math.floor(self.passes / self.passes_an_iteration)

    def build(self, *, v_corrected: bool = True) -> Method:
        """The base method of one learner, without memory yet; Adam with or without correcting its second moment."""
        if self.base in GRADIENT_METHODS:
            return GRADIENT_METHODS[self.base](self.eta)
        beta1 = _BETA1 if self.beta1 is None else self.beta1
        beta2 = _BETA2 if self.beta2 is None else self.beta2
        return ADAM_METHODS[self.base](self.eta, beta1, beta2, v_corrected=v_corrected)


def check(name: str, value: float, holds: Callable[[float], bool], allowed: str) -> None:
    """Raise UserError unless ``value`` is finite and as it must be."""
    if not (math.isfinite(value) and holds(value)):
        raise UserError(f"{name} {value:g}: must be {allowed}")


def check_name(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise UserError unless ``value`` is one of those allowed."""
    if value not in allowed:
        raise UserError(f"{name} {value}: unknown; allowed are {', '.join(allowed)}")


def factors(iterations: NDArray[np.int64], distances: Array, cycle: int) -> list[float | None]:
    """The measured contraction factor of each play, from distances of shape (points, plays)."""
    ends = iterations % cycle == 0
    cycles = (iterations[ends] // cycle).astype(np.float64)
    return [measured(cycles, of_one) for of_one in distances[ends].T]
