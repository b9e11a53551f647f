"""The Hessians of both players and the Jacobian of their joint vector field, as products with vectors.

    field(w) = (grad_G L_G, grad_D L_D),    w = (G, D)
    H_G = d grad_G L_G / dG,    H_D = d grad_D L_D / dD,    J = d field / dw

No matrix is ever built. The graph of the first derivatives is made once and kept; one backward pass through it gives
v' M, that is M' v. A Hessian is symmetric, and J' has the eigenvalues of J, so that J v, which would cost two such
passes, is not needed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

Vector = npt.NDArray[np.float64]


class Operator:
    """The transposed Jacobian of a field in parameters; of a gradient that is the Hessian.

    Args:
        field: made from ``parameters`` with a graph that can be differentiated again; one entry for each of them.
        parameters: all on one device.

    Attributes:
        dimension: of the square matrix: how many numbers the parameters have.
        products: how many were computed so far.
    """

    def __init__(self, field: Sequence[Tensor], parameters: Sequence[Tensor]) -> None:
        self._parameters = list(parameters)
        self._sizes = [parameter.numel() for parameter in parameters]
        # What is constant (the gradient of a bias that the loss is linear in, say) adds nothing.
        self._varying = [index for index, part in enumerate(field) if part.requires_grad]
        self._field = [field[index] for index in self._varying]
        self.dimension = sum(self._sizes)
        self.products = 0

    def __call__(self, vector: Vector) -> Vector:
        """The product with a vector, shape ``(dimension,)``; computed in the parameters' own precision."""
        self.products += 1
        if not self._field:
            return np.zeros(self.dimension)
        first = self._parameters[0]
        parts = torch.split(torch.from_numpy(vector).to(first.device, first.dtype), self._sizes)
        weights = [parts[index].view(self._parameters[index].shape) for index in self._varying]
        product = torch.autograd.grad(
            self._field, self._parameters, weights, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        flat = torch.cat([part.reshape(-1) for part in product])
        return flat.to("cpu", torch.float64).numpy()


class Linearization(NamedTuple):
    """A game at one point.

    Attributes:
        losses: of G and of D.
        gradient_norms: Euclidean norms of each one's gradient of its own loss: both 0 at a stationary point.
        hessians: of L_G in G, and of L_D in D.
        jacobian: J', in G and D.
    """

    losses: tuple[float, float]
    gradient_norms: tuple[float, float]
    hessians: tuple[Operator, Operator]
    jacobian: Operator


def linearize(losses: tuple[Tensor, Tensor], players: tuple[Sequence[Tensor], Sequence[Tensor]]) -> Linearization:
    """A game of two players at their present parameters.

    Args:
        losses: of the first and of the second player, as scalars.
        players: the parameters of each, which both losses may depend on.
    """
    gradients = [
        torch.autograd.grad(loss, list(player), create_graph=True, allow_unused=True, materialize_grads=True)
        for loss, player in zip(losses, players, strict=True)
    ]
    norms = [torch.cat([part.reshape(-1) for part in gradient]).norm().item() for gradient in gradients]
    return Linearization(
        losses=(losses[0].item(), losses[1].item()),
        gradient_norms=(norms[0], norms[1]),
        hessians=(Operator(gradients[0], players[0]), Operator(gradients[1], players[1])),
        jacobian=Operator([*gradients[0], *gradients[1]], [*players[0], *players[1]]),
    )


@contextmanager
def training_field(*networks: nn.Module) -> Iterator[None]:
    """Within the block, networks compute what they do in training, but nothing in them moves.

    Batch norms use the statistics of the batch and leave the running ones alone; the power iteration of spectral
    norms stands still, its vectors being constants to the derivatives, as they are in training. Modes are restored
    on leaving the block.
    """
    modes = [(part, part.training) for network in networks for part in network.modules()]
    norms = [part for part, _ in modes if isinstance(part, _BatchNorm)]
    tracking = [norm.track_running_stats for norm in norms]
    try:
        for network in networks:
            network.eval()
        for norm in norms:
            norm.train()
            norm.track_running_stats = False
        yield
    finally:
        for norm, tracks in zip(norms, tracking, strict=True):
            norm.track_running_stats = tracks
        for part, training in modes:
            part.training = training
