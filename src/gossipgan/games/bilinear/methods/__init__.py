"""Base methods by name, one a file."""

from collections.abc import Callable

from gossipgan.games.bilinear.methods.adam import Adam
from gossipgan.games.bilinear.methods.alternating import AlternatingGDA
from gossipgan.games.bilinear.methods.base import Method
from gossipgan.games.bilinear.methods.extra_adam import ExtraAdam
from gossipgan.games.bilinear.methods.extragradient import Extragradient
from gossipgan.games.bilinear.methods.gda import GDA
from gossipgan.games.bilinear.methods.optimistic import OptimisticGDA

#: Methods that take a step size and nothing else.
GRADIENT_METHODS: dict[str, Callable[[float], Method]] = {
    "gda": GDA,
    "alt-gda": AlternatingGDA,
    "eg": Extragradient,
    "ogda": OptimisticGDA,
}

#: Methods that also take beta1 and beta2.
ADAM_METHODS: dict[str, Callable[[float, float, float], Method]] = {"adam": Adam, "extra-adam": ExtraAdam}

__all__ = [
    "ADAM_METHODS",
    "GDA",
    "GRADIENT_METHODS",
    "Adam",
    "AlternatingGDA",
    "ExtraAdam",
    "Extragradient",
    "Method",
    "OptimisticGDA",
]
