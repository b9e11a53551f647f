"""Wire formats: what becomes of a float32 vector on its way to another learner.

=========  =====================  ==========================================================================
wire       bytes for n floats     on the way
=========  =====================  ==========================================================================
float32    4 n                    nothing is lost
bf16       2 n                    rounded to bfloat16
fp16       2 n                    rounded to half precision; beyond 65,504 clamped
int8       n + 4 ceil(n / 2048)   each block of 2,048 scaled to its largest magnitude, rounded to 255 levels
topk       8 ceil(f n)            the share f of the largest magnitudes, with their places; the rest is 0
=========  =====================  ==========================================================================
"""

import math
from typing import Protocol

import torch
from torch import Tensor

_BLOCK = 2048


class Wire(Protocol):
    """Vectors of ``length`` floats to bytes and back."""

    def encode(self, vector: Tensor) -> Tensor:
        """Shape (length,), float32, to a tensor of bytes, uint8, always as many."""
        ...

    def decode(self, message: Tensor) -> Tensor:
        """What a receiver makes of a message, shape (length,), float32."""
        ...


class Float32:
    """Lossless."""

    def encode(self, vector: Tensor) -> Tensor:
        return vector.view(torch.uint8)

    def decode(self, message: Tensor) -> Tensor:
        return message.view(torch.float32)


class Rounded:
    """To a 16-bit type.

    Args:
        dtype: ``torch.bfloat16`` or ``torch.float16``.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._limit = torch.finfo(dtype).max

    def encode(self, vector: Tensor) -> Tensor:
        return vector.clamp(-self._limit, self._limit).to(self._dtype).view(torch.uint8)

    def decode(self, message: Tensor) -> Tensor:
        return message.view(self._dtype).float()


class Int8:
    """Blockwise to 255 levels. A block's scale is its largest magnitude over 127.

    Args:
        length: floats in a vector.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._blocks = math.ceil(length / _BLOCK)

    def encode(self, vector: Tensor) -> Tensor:
        padded = torch.nn.functional.pad(vector, (0, self._blocks * _BLOCK - self._length)).view(self._blocks, _BLOCK)
        scales = padded.abs().amax(dim=1) / 127
        levels = (padded / scales.clamp_min(torch.finfo(torch.float32).tiny)[:, None]).round_().clamp_(-127, 127)
        return torch.cat((scales.view(torch.uint8), levels.to(torch.int8).view(-1)[: self._length].view(torch.uint8)))

    def decode(self, message: Tensor) -> Tensor:
        # A copy, since the scales must begin at a multiple of four bytes.
        scales = message[: 4 * self._blocks].clone().view(torch.float32)
        levels = message[4 * self._blocks :].view(torch.int8).float()
        return levels * scales.repeat_interleave(_BLOCK)[: self._length]


class TopK:
    """The largest magnitudes and their places.

    Args:
        length: floats in a vector, below 2^31.
        fraction: share of them that is sent, in (0, 1].
    """

    def __init__(self, length: int, fraction: float) -> None:
        self._length = length
        self._kept = max(1, math.ceil(fraction * length))

    def encode(self, vector: Tensor) -> Tensor:
        places = vector.abs().topk(self._kept, sorted=False).indices.sort().values
        return torch.cat((places.to(torch.int32).view(torch.uint8), vector[places].view(torch.uint8)))

    def decode(self, message: Tensor) -> Tensor:
        places = message[: 4 * self._kept].view(torch.int32).long()
        vector = torch.zeros(self._length, device=message.device)
        vector[places] = message[4 * self._kept :].view(torch.float32)
        return vector


def build_wire(name: str, length: int, fraction: float) -> Wire:
    """A wire by name; ``fraction`` is topk's."""
    if name == "float32":
        return Float32()
    if name in ("bf16", "fp16"):
        return Rounded(torch.bfloat16 if name == "bf16" else torch.float16)
    return Int8(length) if name == "int8" else TopK(length, fraction)
