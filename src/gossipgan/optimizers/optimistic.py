"""Optimistic steps: each takes the newest gradient twice and the one before it back.

    omd      theta <- theta - 2 eta g_k + eta g_{k-1}
    oadam    theta <- theta - 2 eta u_k + eta u_{k-1},   u_k = m^_k / (sqrt(v^_k) + eps)

where m^ and v^ are Adam's bias-corrected moments, and g_0 = u_0 = 0.
Source: Daskalakis et al., "Training GANs with Optimism" (ICLR 2018).
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class OptimisticGradient(torch.optim.Optimizer):
    """Optimistic gradient (optimistic mirror descent), theta <- theta - 2 eta g_k + eta g_{k-1}.

    Args:
        params: parameters.
        lr: eta, above 0.
    """

    def __init__(self, params: Iterable[Tensor], lr: float) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move the parameters by their gradients. (No closure is taken.)"""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["previous"] = torch.zeros_like(parameter)
                parameter.add_(parameter.grad, alpha=-2 * group["lr"])
                parameter.add_(state["previous"], alpha=group["lr"])
                state["previous"].copy_(parameter.grad)


class OptimisticAdam(torch.optim.Optimizer):
    """Optimistic Adam, theta <- theta - 2 eta u_k + eta u_{k-1}.

    Args:
        params: parameters.
        lr: eta, above 0.
        betas: decays of the two moments; the first in (-1, 1), the second in [0, 1).
        eps: added to the root of the second moment.
    """

    def __init__(self, params: Iterable[Tensor], lr: float, betas: tuple[float, float], eps: float = 1e-8) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move the parameters by their gradients. (No closure is taken.)"""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, parameter.grad, group)

    def _move(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        state = self.state[parameter]
        if not state:
            state["step"] = torch.tensor(0.0)
            for name in ("exp_avg", "exp_avg_sq", "previous"):
                state[name] = torch.zeros_like(parameter)
        state["step"] += 1
        step = state["step"].item()  # on the CPU: nothing waits for a GPU
        state["exp_avg"].lerp_(gradient, 1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (state["exp_avg_sq"].sqrt() / math.sqrt(1 - beta2**step)).add_(group["eps"])
        update = state["exp_avg"].div(root).div_(1 - beta1**step)
        parameter.add_(update, alpha=-2 * group["lr"])
        parameter.add_(state["previous"], alpha=group["lr"])
        state["previous"].copy_(update)
