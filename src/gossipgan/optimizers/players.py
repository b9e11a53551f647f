"""Optimizers of single players, by name, over flat vectors; torch.optim's own where it has them."""

from collections.abc import Callable

import torch
from torch import Tensor

from gossipgan.config import OptimizerSettings, PlayerSettings
from gossipgan.optimizers.extrapolation import Dposg, Extragradient
from gossipgan.optimizers.flat import FlatPlayer
from gossipgan.optimizers.optimistic import OptimisticAdam, OptimisticGradient
from gossipgan.optimizers.schedules import rate_factor


def _sgd(vector: Tensor, settings: PlayerSettings) -> torch.optim.Optimizer:
    optimizer = torch.optim.SGD([vector], lr=settings.lr, fused=True)
    # The constructor refuses negative momentum, which games profit from; the step itself knows no sign.
    optimizer.param_groups[0]["momentum"] = settings.momentum
    return optimizer


def _adam(vector: Tensor, settings: PlayerSettings) -> torch.optim.Optimizer:
    # The fused kernel makes one pass over the flat vectors.
    return _with_betas(torch.optim.Adam([vector], lr=settings.lr, eps=settings.eps, fused=True), settings)


def _radam(vector: Tensor, settings: PlayerSettings) -> torch.optim.Optimizer:
    return _with_betas(torch.optim.RAdam([vector], lr=settings.lr, eps=settings.eps), settings)


def _with_betas(optimizer: torch.optim.Optimizer, settings: PlayerSettings) -> torch.optim.Optimizer:
    # Set afterwards, since the constructors refuse a negative beta1.
    optimizer.param_groups[0]["betas"] = (settings.beta1, settings.beta2)
    return optimizer


def _oadam(vector: Tensor, settings: PlayerSettings) -> torch.optim.Optimizer:
    return OptimisticAdam([vector], settings.lr, (settings.beta1, settings.beta2), settings.eps)


def _omd(vector: Tensor, settings: PlayerSettings) -> torch.optim.Optimizer:
    return OptimisticGradient([vector], settings.lr)


def _dposg(vector: Tensor, settings: PlayerSettings) -> torch.optim.Optimizer:
    return Dposg([vector], settings.lr)


#: What takes the step, by the method's name: a new optimizer is one function and one entry here.
_STEPS: dict[str, Callable[[Tensor, PlayerSettings], torch.optim.Optimizer]] = {
    "sgd": _sgd,
    "adam": _adam,
    "radam": _radam,
    "oadam": _oadam,
    "omd": _omd,
    "extragradient": _sgd,
    "extra-adam": _adam,
    "dposg": _dposg,
}


class PlayerOptimizer:
    """A player's optimizer with its learning-rate schedule, weight decay and gradient clipping.

    Args:
        player: whose vector is moved, by what is in its gradient.
        settings: name and extrapolation are read.
        mine: step sizes of this player.
        steps: iterations of the whole run, for the schedule.

    Attributes:
        optimizers: those of torch's kind within, with the state that a run must keep.
        evaluates_first: whether the extrapolation wants a gradient of its own (extragradient).
        extrapolates: whether gradients are taken at extrapolated players.
    """

    def __init__(self, player: FlatPlayer, settings: OptimizerSettings, mine: PlayerSettings, steps: int) -> None:
        self._player = player
        self._settings = mine
        self._steps = steps
        make = _STEPS[settings.name]
        optimizer = make(player.vector, mine)
        self.optimizers = [optimizer]
        self._rule: torch.optim.Optimizer | Extragradient = optimizer
        self.evaluates_first = settings.name in ("extragradient", "extra-adam")
        self.extrapolates = self.evaluates_first or settings.name == "dposg"
        if self.evaluates_first:
            own = make(player.vector, mine) if settings.extrapolation == "own" else None
            self._rule = Extragradient(optimizer, own)
            self.optimizers += [own] if own is not None else []

    def begin(self, iteration: int) -> None:
        """Set the learning rate of an iteration, counted from 0."""
        rate = self._settings.lr * rate_factor(self._settings, iteration, self._steps)
        for optimizer in self.optimizers:
            optimizer.param_groups[0]["lr"] = rate

    def extrapolate(self) -> None:
        """Move the player to where the gradient of ``step`` is to be taken."""
        assert isinstance(self._rule, Extragradient | Dposg)
        if self.evaluates_first:
            self._prepare_gradient()
        self._rule.extrapolate()

    def step(self) -> None:
        """Move the player by its gradient."""
        self._prepare_gradient()
        self._rule.step()

    def tensors(self) -> dict[str, Tensor]:
        """State tensors by name (``0.exp_avg``, ``0.step``, ...). Not copies."""
        return {
            f"{index}.{name}": tensor
            for index, optimizer in enumerate(self.optimizers)
            for name, tensor in optimizer.state[self._player.vector].items()
            if tensor is not None
        }

    def moments(self) -> list[Tensor]:
        """State tensors of the vector's shape, in a fixed order. Not copies."""
        return [tensor for _, tensor in sorted(self.tensors().items()) if tensor.shape == self._player.vector.shape]

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Put copies of saved state tensors in place of the present ones."""
        vector = self._player.vector
        for index, optimizer in enumerate(self.optimizers):
            prefix = f"{index}."
            # Fused kernels count their steps beside the weights, the others on the CPU.
            counts = vector.device if optimizer.defaults.get("fused") else torch.device("cpu")
            optimizer.state[vector] = {
                name.removeprefix(prefix): tensor.to(vector.device if tensor.dim() else counts, copy=True)
                for name, tensor in tensors.items()
                if name.startswith(prefix)
            }

    @torch.no_grad()
    def _prepare_gradient(self) -> None:
        """Clip, then add the L2 penalty's gradient, at the weights where the gradient was taken."""
        if self._settings.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_([self._player.vector], self._settings.clip_norm)
        if self._settings.weight_decay:
            self._player.gradient.add_(self._player.vector, alpha=self._settings.weight_decay)
