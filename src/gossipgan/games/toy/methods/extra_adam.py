"""Extra-Adam: extragradient whose two half-steps are Adam steps that share their moments.

    w' = w - eta adam(g(w));    w <- w - eta adam(g(w'))

Both gradients enter the same moments, so that bias is corrected for two gradients an iteration. Source: Gidel et al.,
"A Variational Inequality Perspective on Generative Adversarial Networks" (ICLR 2019), algorithm 4.
"""

from gossipgan.games.toy.game import Array, Field
from gossipgan.games.toy.methods.adam import AdamMoments


class ExtraAdam:
    extrapolations = 1

    def __init__(self, eta: float, beta1: float = 0.9, beta2: float = 0.999, *, v_corrected: bool = True) -> None:
        self.eta = eta
        self._moments = AdamMoments(beta1, beta2, v_corrected=v_corrected)

    def step(self, w: Array, field: Field) -> Array:
        extrapolated = w - self.eta * self._moments.direction(field(w))
        return w - self.eta * self._moments.direction(field(extrapolated))

    def linear_step(self, jacobian: Array) -> None:
        return None
