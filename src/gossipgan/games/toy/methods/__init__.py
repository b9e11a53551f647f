"""Base methods by name, one a file."""

from collections.abc import Callable

from gossipgan.games.toy.methods.adam import Adam
from gossipgan.games.toy.methods.alternating import AlternatingGDA
from gossipgan.games.toy.methods.base import LinearStep, Method
from gossipgan.games.toy.methods.extra_adam import ExtraAdam
from gossipgan.games.toy.methods.extragradient import Extragradient
from gossipgan.games.toy.methods.gda import GDA
from gossipgan.games.toy.methods.optimistic import OptimisticGDA

#: Methods that take a step size and nothing else.
GRADIENT_METHODS: dict[str, Callable[[float], Method]] = {
    "gda": GDA,
    "alt-gda": AlternatingGDA,
    "eg": Extragradient,
    "ogda": OptimisticGDA,
}

#: Methods that also take beta1 and beta2.
ADAM_METHODS: dict[str, type[Adam] | type[ExtraAdam]] = {"adam": Adam, "extra-adam": ExtraAdam}

__all__ = [
    "ADAM_METHODS",
    "GDA",
    "GRADIENT_METHODS",
    "Adam",
    "AlternatingGDA",
    "ExtraAdam",
    "Extragradient",
    "LinearStep",
    "Method",
    "OptimisticGDA",
]
