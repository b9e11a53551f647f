"""Flat players: all parameters of a network are views into one vector, their gradients into another.

An Adam step, a Lookahead sync, an EMA, a message to a neighbour or a checkpoint is then one operation on
one vector, whatever the network.
"""

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

#: Every parameter starts at a multiple of so many floats (64 bytes), as vector units and GPUs like it. The
#: padding holds zeros, has zero gradient, and stays zero under every method.
_ALIGNMENT = 16


class FlatPlayer:
    """A network whose parameters live in one contiguous float32 vector.

    Args:
        network: its parameters are moved; it is otherwise left as it is.
        channels_last: lay the weights of convolutions out in channels-last order.

    Attributes:
        vector: the parameters, shape ``(parameters + padding,)``; writing to it changes the network.
        gradient: of the same shape; backward passes add into it.
    """

    def __init__(self, network: nn.Module, *, channels_last: bool = False) -> None:
        self.network = network
        parameters = list(network.parameters())
        offsets, length = [], 0
        for parameter in parameters:
            offsets.append(length)
            length += -(-parameter.numel() // _ALIGNMENT) * _ALIGNMENT
        device = parameters[0].device
        self.vector = nn.Parameter(torch.zeros(length, dtype=torch.float32, device=device))
        self.gradient = torch.zeros_like(self.vector.data)
        self.vector.grad = self.gradient
        for parameter, offset in zip(parameters, offsets, strict=True):
            home = _view(self.vector.data, offset, parameter, channels_last)
            home.copy_(parameter.data)
            parameter.data = home
            parameter.grad = _view(self.gradient, offset, parameter, channels_last)

    def zero_grad(self) -> None:
        """Clear the gradient. (It is never dropped: the views into it must stay.)"""
        self.gradient.zero_()

    def buffers(self) -> dict[str, Tensor]:
        """State of the network that is no parameter: batch-norm statistics, spectral-norm vectors; by name."""
        return dict(self.network.named_buffers())

    def batch_norm_statistics(self) -> dict[str, Tensor]:
        """Running means and variances of the network's batch norms, by buffer name."""
        return batch_norm_statistics(self.network)

    def state(self) -> dict[str, Tensor]:
        """Parameters and buffers by name, as the network's ``state_dict`` names them: copies."""
        return {name: tensor.detach().clone() for name, tensor in self.network.state_dict().items()}


def batch_norm_statistics(network: nn.Module) -> dict[str, Tensor]:
    """Running means and variances of batch norms, by buffer name: the buffers that it makes sense to average."""
    return {
        f"{module}.{name}" if module else name: buffer
        for module, norm in network.named_modules()
        if isinstance(norm, _BatchNorm)
        for name, buffer in norm.named_buffers(recurse=False)
        if buffer.is_floating_point()
    }


def _view(vector: Tensor, offset: int, like: Tensor, channels_last: bool) -> Tensor:
    part = vector[offset : offset + like.numel()]
    if channels_last and like.dim() == 4:
        first, second, height, width = like.shape
        return part.view(first, height, width, second).permute(0, 3, 1, 2)
    return part.view(like.shape)
