"""The one routine that adds weighted vectors, so that every placement of learners gives the same bits."""

from collections.abc import Iterable

import torch
from torch import Tensor


@torch.no_grad()
def weighted_sum(terms: Iterable[tuple[float, Tensor]], out: Tensor) -> None:
    """``out = w_1 x_1 + w_2 x_2 + ...``, added in the order given.

    Args:
        terms: weights and tensors of one shape; ``out`` is none of them.
        out: overwritten.
    """
    first = True
    for weight, tensor in terms:
        if first:
            torch.mul(tensor, weight, out=out)
            first = False
        else:
            out.add_(tensor, alpha=weight)


@torch.no_grad()
def mean(tensors: list[Tensor]) -> Tensor:
    """Mean of tensors of one shape, in their order; a single one is returned as its copy, to the last bit."""
    out = torch.empty_like(tensors[0])
    weighted_sum(((1.0 / len(tensors), tensor) for tensor in tensors), out)
    return out


@torch.no_grad()
def consensus_distance(tensors: list[Tensor]) -> float:
    """``sqrt(mean_i |x_i - mean_j x_j|^2)``, in float64 sums."""
    centre = mean(tensors)
    squares = [float((tensor - centre).double().square().sum()) for tensor in tensors]
    return float((sum(squares) / len(tensors)) ** 0.5)
