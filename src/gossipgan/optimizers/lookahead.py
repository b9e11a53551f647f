"""Lookahead-minmax with joint backtracking.

Every k iterations: ``slow += alpha (fast - slow); fast <- slow``, for both players at the same moment.
Source: "Taming GANs with Lookahead-Minmax" (ICLR 2021), algorithm 1.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gossipgan.optimizers.flat import FlatPlayer


class JointLookahead:
    """Slow weights for the players of a game, pulled back to together.

    It touches weights only, so it goes with any optimizer and any loop::

        lookahead = JointLookahead([generator, discriminator], k=5, alpha=0.5)
        for batch in batches:
            ...                      # the discriminator's step, then the generator's
            lookahead.fast_step()    # one iteration is done
            lookahead.slow_step()    # backtracks after every k of them

    The slow weights are anchored at construction, before the first step. Optimizer moments and buffers (batch-norm
    statistics) are left as they are, as in the paper's code.

    Args:
        players: networks, or flat players.
        k: iterations in a cycle, at least 1.
        alpha: slow step size in (0, 1]; at 1 the weights are those of the base method, to the last bit.

    Raises:
        ValueError: k or alpha out of range.
    """

    def __init__(self, players: Sequence[nn.Module | FlatPlayer], k: int, alpha: float) -> None:
        if k < 1:
            raise ValueError(f"k: at least 1, not {k}")
        if not 0 < alpha <= 1:
            raise ValueError(f"alpha: more than 0 and at most 1, not {alpha}")
        self.k = k
        self.alpha = alpha
        self.fast_steps = 0
        self._fast = [_named_weights(player) for player in players]
        self._slow = [{name: weights.clone() for name, weights in fast.items()} for fast in self._fast]

    def fast_step(self) -> None:
        """Count an iteration: both players have moved."""
        self.fast_steps += 1

    @torch.no_grad()
    def slow_step(self) -> bool:
        """If a cycle is complete, move the slow weights and pull the fast ones back to them.

        Returns:
            whether the players backtracked.
        """
        if self.fast_steps == 0 or self.fast_steps % self.k:
            return False
        for slow, fast in zip(self._slow, self._fast, strict=True):
            for name, weights in fast.items():
                # lerp is exact at weight 1, so that alpha = 1 changes nothing.
                slow[name].lerp_(weights, self.alpha)
                weights.copy_(slow[name])
        return True

    def slow(self, player: int) -> dict[str, Tensor]:
        """Slow weights of a player, by parameter name (``vector`` for a flat player). Not a copy."""
        return self._slow[player]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs: the count of fast steps, and the slow weights by player and name."""
        return {
            "fast_steps": self.fast_steps,
            "slow": [{name: weights.clone() for name, weights in slow.items()} for slow in self._slow],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up a ``state_dict``.

        Raises:
            ValueError: players or parameter names differ.
        """
        names = [list(slow) for slow in self._slow]
        if [list(slow) for slow in state["slow"]] != names:
            raise ValueError("the state is of other players: their parameters' names differ")
        self.fast_steps = state["fast_steps"]
        for slow, saved in zip(self._slow, state["slow"], strict=True):
            for name, weights in saved.items():
                slow[name].copy_(weights)


def _named_weights(player: nn.Module | FlatPlayer) -> dict[str, Tensor]:
    if isinstance(player, FlatPlayer):
        return {"vector": player.vector.data}
    return {name: parameter.data for name, parameter in player.named_parameters()}
