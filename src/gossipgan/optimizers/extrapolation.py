"""Steps from where the players are, by gradients from where they are about to be.

A player that extrapolates is stepped in two halves, and the game's gradients are evaluated between them at the pair of
extrapolated players::

    extragradient    Z = X - eta g(X);          X <- X - eta g(Z)
    dposg            Z = X - eta g(last Z);     X <- X - eta g(Z)

Extragradient evaluates the joint gradient twice an iteration, DPOSG once: it reuses the last one. With Adam's update
in place of eta g, extragradient is Extra-Adam. On one learner DPOSG is optimistic gradient.
Sources: Korpelevich 1976; Gidel et al., "A Variational Inequality Perspective on GANs" (ICLR 2019), algorithm 4; "A
Decentralized Parallel Algorithm for Training Generative Adversarial Nets" (NeurIPS 2020), algorithm 1.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


class Extragradient:
    """Extragradient over any optimizer: its step serves for both halves.

    Args:
        optimizer: takes the step, and the extrapolation where that has no optimizer of its own; the two then share
            their moments, as in Gidel et al.'s Extra-Adam.
        extrapolation: an optimizer of the same parameters with moments of its own, for the extrapolation.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, extrapolation: torch.optim.Optimizer | None = None) -> None:
        self.optimizer = optimizer
        self.extrapolation = extrapolation
        self._anchors: list[Tensor] = []

    @torch.no_grad()
    def extrapolate(self) -> None:
        """Remember where the parameters are, and step on by the present gradient."""
        parameters = _parameters(self.optimizer)
        if not self._anchors:
            self._anchors = [parameter.detach().clone() for parameter in parameters]
        for anchor, parameter in zip(self._anchors, parameters, strict=True):
            anchor.copy_(parameter)
        (self.extrapolation or self.optimizer).step()

    @torch.no_grad()
    def step(self) -> None:
        """Go back to where the parameters were, and step from there by the present gradient."""
        for anchor, parameter in zip(self._anchors, _parameters(self.optimizer), strict=True):
            parameter.copy_(anchor)
        self.optimizer.step()


class Dposg(torch.optim.Optimizer):
    """The two halves of a learner's iteration in DPOSG; mixing comes after them. The first gradient reused is 0.

    Args:
        params: parameters; between iterations they hold X.
        lr: eta, above 0.
    """

    def __init__(self, params: Iterable[Tensor], lr: float) -> None:
        super().__init__(params, {"lr": lr})
        self._anchors: list[Tensor] = []

    @torch.no_grad()
    def extrapolate(self) -> None:
        """From X to Z, by the last iteration's gradient."""
        parameters = _parameters(self)
        if not self._anchors:
            self._anchors = [parameter.detach().clone() for parameter in parameters]
        for group in self.param_groups:
            for parameter in group["params"]:
                if not self.state[parameter]:
                    self.state[parameter]["previous"] = torch.zeros_like(parameter)
        for anchor, parameter in zip(self._anchors, parameters, strict=True):
            anchor.copy_(parameter)
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.add_(self.state[parameter]["previous"], alpha=-group["lr"])

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """From X by the gradient at Z, which is kept for the next extrapolation. (No closure is taken.)"""
        for anchor, parameter in zip(self._anchors, _parameters(self), strict=True):
            parameter.copy_(anchor)
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.add_(parameter.grad, alpha=-group["lr"])
                self.state[parameter]["previous"].copy_(parameter.grad)


def _parameters(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
