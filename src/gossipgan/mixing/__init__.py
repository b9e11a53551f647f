"""What learners exchange."""

from gossipgan.mixing.base import Mixing, NoMixing

__all__ = ["Mixing", "NoMixing"]
