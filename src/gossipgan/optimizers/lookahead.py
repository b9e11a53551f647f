"""Lookahead-minmax: every k fast steps, the players backtrack towards their slow weights.

    slow += alpha (fast - slow);  fast <- slow                                   every k fast steps
    super_slow += alpha' (slow - super_slow);  slow <- fast <- super_slow        every K of them, if nested

Source: "Taming GANs with Lookahead-Minmax" (ICLR 2021), algorithms 1 and 3.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gossipgan.optimizers.flat import FlatPlayer, batch_norm_statistics


class JointLookahead:
    """Slow weights for the players of a game, pulled back to together.

    It touches weights, so it goes with any optimizer and any loss::

        lookahead = JointLookahead([generator, discriminator], k=5, alpha=0.5)
        for batch in batches:
            ...                      # the discriminator's step, then the generator's
            lookahead.fast_step()    # one iteration is done
            lookahead.slow_step()    # backtracks after every k of them

    The slow weights are anchored at construction, before the first step. One of these for each player, stepped inside
    the player's own step, is *alternating* Lookahead, another method.

    Args:
        players: networks, or flat players.
        k: fast steps in a cycle, at least 1; or a function from a cycle's number, from 0, to its length.
        alpha: slow step size in (0, 1]; at 1 the weights are those of the base method, to the last bit.
        super_k: of nested Lookahead: fast steps in a cycle of the outer one, a multiple of k; None: not nested.
        super_alpha: slow step size of the outer one, in (0, 1].
        optimizers: the players', where ``moments`` is not ``keep``.
        moments: what becomes of the optimizers' moments at a backtrack: ``keep`` leaves them, as the paper's code
            does; ``reset`` begins anew; ``pullback`` moves them towards their values at the cycle's start as weights
            are moved (they start at zero; counts of steps are kept).
        buffers: ``keep`` leaves batch-norm statistics as the fast steps left them, as the paper's code does;
            ``average`` pulls them back as weights are. Other buffers are left alone.

    Attributes:
        fast_steps: fast steps counted so far.

    Raises:
        ValueError: k, alpha, super_k or super_alpha out of range, or moments without optimizers.
    """

    def __init__(
        self,
        players: Sequence[nn.Module | FlatPlayer],
        k: int | Callable[[int], int],
        alpha: float,
        *,
        super_k: int | None = None,
        super_alpha: float = 0.5,
        optimizers: Sequence[torch.optim.Optimizer] = (),
        moments: Literal["keep", "reset", "pullback"] = "keep",
        buffers: Literal["keep", "average"] = "keep",
    ) -> None:
        for name, value in (("alpha", alpha), ("super_alpha", super_alpha)):
            if not 0 < value <= 1:
                raise ValueError(f"{name}: more than 0 and at most 1, not {value}")
        if not callable(k) and k < 1:
            raise ValueError(f"k: at least 1, not {k}")
        if super_k is not None and (callable(k) or super_k < 1 or super_k % k):
            raise ValueError(f"super_k: a multiple of a fixed k, not {super_k}")
        if moments != "keep" and not optimizers:
            raise ValueError(f"moments: to {moments} them, optimizers must be given")
        self.alpha = alpha
        self.super_alpha = super_alpha
        self.super_k = super_k
        self.fast_steps = 0
        self._length = k if callable(k) else lambda cycle: k
        self._cycle = 0
        self._cycle_end = self._length(0)
        self._optimizers = optimizers
        self._moments = moments
        self._fast = {
            f"{number}.{name}": tensor
            for number, player in enumerate(players)
            for name, tensor in _tracked(player, buffers == "average").items()
        }
        self._slow = _copies(self._fast)
        self._super_slow = _copies(self._fast) if super_k is not None else {}

    def fast_step(self) -> None:
        """Count an iteration: the players have moved."""
        self.fast_steps += 1

    @torch.no_grad()
    def slow_step(self) -> int:
        """If a cycle is complete, move the slow weights and pull the fast ones back to them.

        Returns:
            0 where no cycle was complete, 1 where the players backtracked, 2 where nested ones did so twice.
        """
        if self.fast_steps < self._cycle_end:
            return 0
        self._cycle += 1
        self._cycle_end = self.fast_steps + self._length(self._cycle)
        fast = {**self._fast, **self._pulled_moments()}
        _backtrack(fast, self._slow, self.alpha)
        nested = self.super_k is not None and self.fast_steps % self.super_k == 0
        if nested:
            _backtrack(fast, self._super_slow, self.super_alpha)
            for name, tensor in fast.items():
                self._slow[name].copy_(tensor)
        if self._moments == "reset":
            for optimizer in self._optimizers:
                optimizer.state.clear()
        return 2 if nested else 1

    @torch.no_grad()
    def anchor(self) -> None:
        """Make the present weights the slow ones, without a step."""
        for name, tensor in self._fast.items():
            self._slow[name].copy_(tensor)

    def slow(self, player: int) -> dict[str, Tensor]:
        """Slow weights of a player, by parameter name (``vector`` for a flat player). Not copies."""
        prefix = f"{player}."
        return {name.removeprefix(prefix): slow for name, slow in self._slow.items() if name.startswith(prefix)}

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs, flat: counts, and copies of the slow weights by player's number and name."""
        tensors = {
            f"{level}.{name}": tensor.clone()
            for level, anchors in (("slow", self._slow), ("super_slow", self._super_slow))
            for name, tensor in anchors.items()
        }
        return {"fast_steps": self.fast_steps, "cycle": self._cycle, "cycle_end": self._cycle_end, **tensors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up a ``state_dict``.

        Raises:
            ValueError: players or parameter names differ.
        """
        device = next(iter(self._fast.values())).device
        for level, anchors in (("slow", self._slow), ("super_slow", self._super_slow)):
            prefix = f"{level}."
            saved = {name.removeprefix(prefix): state[name] for name in state if name.startswith(prefix)}
            if {name for name in saved if not name.startswith("moment.")} != {
                name for name in anchors if not name.startswith("moment.")
            }:
                raise ValueError("the state is of other players: their parameters' names differ")
            for name, tensor in saved.items():
                if name not in anchors:  # a moment, which exists from the first backtrack on
                    anchors[name] = torch.empty_like(tensor, device=device)
                anchors[name].copy_(tensor)
        self.fast_steps, self._cycle, self._cycle_end = state["fast_steps"], state["cycle"], state["cycle_end"]

    def _pulled_moments(self) -> dict[str, Tensor]:
        """The moments that backtrack, with anchors: zero, as they were before the first step, where there are none."""
        if self._moments != "pullback":
            return {}
        moments = {
            f"moment.{number}.{index}.{name}": moment
            for number, optimizer in enumerate(self._optimizers)
            for index, parameter in enumerate(p for group in optimizer.param_groups for p in group["params"])
            for name, moment in optimizer.state[parameter].items()
            if isinstance(moment, Tensor) and moment.shape == parameter.shape and moment.dim()
        }
        for anchors in (self._slow, self._super_slow) if self.super_k is not None else (self._slow,):
            for name, moment in moments.items():
                if name not in anchors:
                    anchors[name] = torch.zeros_like(moment)
        return moments


def _backtrack(fast: dict[str, Tensor], slow: dict[str, Tensor], alpha: float) -> None:
    for name, tensor in fast.items():
        # lerp is exact at weight 1, so that alpha = 1 changes nothing.
        slow[name].lerp_(tensor, alpha)
        tensor.copy_(slow[name])


def _tracked(player: nn.Module | FlatPlayer, statistics: bool) -> dict[str, Tensor]:
    """What backtracks of a player: weights, and batch-norm statistics if asked for; the tensors themselves."""
    network = player.network if isinstance(player, FlatPlayer) else player
    weights: dict[str, Tensor] = (
        {"vector": player.vector} if isinstance(player, FlatPlayer) else dict(player.named_parameters())
    )
    return {**weights, **(batch_norm_statistics(network) if statistics else {})}


def _copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
