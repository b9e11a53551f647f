"""The spectrum of a game at one point: extreme eigenvalues of both players' Hessians and of the Jacobian of the joint
vector field (JVF), as "Taming GANs with Lookahead-Minmax" (ICLR 2021) looks at them at the end of training.

The players move against the field, so a point attracts them where all eigenvalues of the JVF have positive real parts;
imaginary parts are rotation around it. A negative eigenvalue of a player's own Hessian is a direction in which that
player could still gain.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gossipgan.evaluation.eigenvalues import TOLERANCE, Extremes, general_extremes, symmetric_extremes
from gossipgan.evaluation.operators import Operator, Vector, linearize, training_field
from gossipgan.games import Batch, GanGame

#: An eigenvalue counts as rotating where |Im| is more than this share of its magnitude (half a degree).
ROTATING = 1e-2
#: Below this share of the largest magnitude an eigenvalue is zero, as far as float32 products tell.
_RESOLVED = 1e-5
#: Two solutions for one operator have the same eigenvalue where they differ by less than this share of the largest.
_SAME = 1e-4

#: Told the name of what is being computed, and how many products with vectors that has taken so far.
Report = Callable[[str, int], None]


class NotFiniteField(ValueError):  # noqa: N818 (names what was found)
    """A loss or a gradient is NaN or infinity at this point, which therefore has no spectrum."""


class PlayerSpectrum(NamedTuple):
    """Of the Hessian of a player's loss in its own parameters.

    Attributes:
        parameters: how many.
        loss: at this point.
        gradient_norm: of the loss.
        largest, smallest: eigenvalues at either end.
        products: Hessian-vector products that it took.
    """

    parameters: int
    loss: float
    gradient_norm: float
    largest: Extremes
    smallest: Extremes
    products: int


class FieldSpectrum(NamedTuple):
    """Of the Jacobian of the joint vector field in both players' parameters.

    Attributes:
        parameters: how many.
        largest: eigenvalues of largest magnitude.
        leftmost: of smallest real part.
        products: vector-Jacobian products that it took.
    """

    parameters: int
    largest: Extremes
    leftmost: Extremes
    products: int

    @property
    def found(self) -> npt.NDArray[np.complex128]:
        """All of them, each once, by falling magnitude."""
        first, second = self.largest.values, list(self.leftmost.values)
        scale = max((abs(value) for value in (*first, *second)), default=0.0)
        for value in first:
            distances = [abs(value - other) for other in second]
            if distances and min(distances) <= _SAME * scale:
                second.pop(int(np.argmin(distances)))
        merged = np.array([*first, *second], dtype=np.complex128)
        return merged[np.argsort(-np.abs(merged), kind="stable")]

    @property
    def radius(self) -> float:
        """The largest magnitude found."""
        return float(np.abs(self.found).max(initial=0.0))

    @property
    def _resolved(self) -> npt.NDArray[np.complex128]:
        found = self.found
        return found[np.abs(found) > _RESOLVED * self.radius]

    @property
    def rotating(self) -> int:
        """How many of those found rotate: |Im| > ``ROTATING`` times their magnitude."""
        values = self._resolved
        return int((np.abs(values.imag) > ROTATING * np.abs(values)).sum())

    @property
    def negative(self) -> int:
        """How many of those found have a negative real part."""
        return int((self._resolved.real < -_RESOLVED * self.radius).sum())

    @property
    def steepest(self) -> float:
        """The largest |Im| / |Re| of those found, infinite for a purely imaginary one; 0 where there are none."""
        return max((abs(z.imag / z.real) if z.real else math.inf for z in self._resolved.tolist()), default=0.0)


class Spectrum(NamedTuple):
    """What ``game_spectrum`` found."""

    generator: PlayerSpectrum
    discriminator: PlayerSpectrum
    jvf: FieldSpectrum

    @property
    def missing(self) -> int:
        """How many of the eigenvalues that were wanted did not converge."""
        ends = [*(end for player in self[:2] for end in (player.largest, player.smallest))]
        return sum(end.missing for end in (*ends, self.jvf.largest, self.jvf.leftmost))

    def summary(self) -> dict[str, float | None]:
        """The spectrum in a few numbers, by name; None where there is none (nothing converged) or it is infinite."""
        numbers = {
            f"{name}_{end}": _first(extremes.values)
            for name, player in (("generator", self.generator), ("discriminator", self.discriminator))
            for end, extremes in (("largest", player.largest), ("smallest", player.smallest))
        }
        steepest = self.jvf.steepest
        return {
            **numbers,
            "jvf_radius": _first(np.abs(self.jvf.largest.values)),
            "jvf_smallest_real": _first(self.jvf.leftmost.values.real),
            "jvf_found": len(self.jvf.found),
            "jvf_rotating": self.jvf.rotating,
            "jvf_negative": self.jvf.negative,
            "jvf_max_imaginary_to_real": steepest if math.isfinite(steepest) else None,
            "missing": self.missing,
        }

    def as_json(self) -> dict[str, Any]:
        """Everything, for JSON; complex numbers as ``[real, imaginary]``."""
        players = {
            name: {
                "parameters": player.parameters,
                "loss": player.loss,
                "gradient_norm": player.gradient_norm,
                "largest": _as_json(player.largest),
                "smallest": _as_json(player.smallest),
                "products": player.products,
            }
            for name, player in (("generator", self.generator), ("discriminator", self.discriminator))
        }
        jvf = {
            "parameters": self.jvf.parameters,
            "largest": _as_json(self.jvf.largest),
            "leftmost": _as_json(self.jvf.leftmost),
            "products": self.jvf.products,
        }
        return {"tolerance": TOLERANCE, "summary": self.summary(), **players, "jvf": jvf}


def game_spectrum(
    game: GanGame, batch: Batch, *, top: int = 20, seed: int = 0, report: Report = lambda name, products: None
) -> Spectrum:
    """Extreme eigenvalues of a game's Hessians and of its JVF, at the networks' present weights, on one batch.

    The field is that of training, both players' gradients at one point: batch norms use the batch's statistics, the
    gradient penalty is in, and spectral norms' vectors are constants. (Weight decay is no part of the losses; it would
    add itself to every eigenvalue.) The networks are left as they were.

    Args:
        game: in the precision that the products are to be computed in.
        batch: on the networks' device and in their precision.
        top: how many eigenvalues at each end.
        seed: of the vectors that the iterations start from.
        report: is told of progress.

    Raises:
        NotFiniteField: the point has no spectrum.
    """
    with training_field(game.generator, game.discriminator):
        point = linearize(
            game.player_losses(batch), (list(game.generator.parameters()), list(game.discriminator.parameters()))
        )
    for name, loss, norm in zip(("G", "D"), point.losses, point.gradient_norms, strict=True):
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise NotFiniteField(f"{name}'s loss is {loss:g}, with a gradient of norm {norm:g}")
    players = []
    for name, operator, loss, norm in zip(
        ("Hessian of G", "Hessian of D"), point.hessians, point.losses, point.gradient_norms, strict=True
    ):
        largest, smallest = symmetric_extremes(_reporting(operator, name, report), operator.dimension, top, seed)
        players.append(PlayerSpectrum(operator.dimension, loss, norm, largest, smallest, operator.products))
    jacobian = point.jacobian
    largest, leftmost = general_extremes(_reporting(jacobian, "JVF", report), jacobian.dimension, top, seed)
    return Spectrum(players[0], players[1], FieldSpectrum(jacobian.dimension, largest, leftmost, jacobian.products))


def _reporting(operator: Operator, name: str, report: Report) -> Callable[[Vector], Vector]:
    def product(vector: Vector) -> Vector:
        result = operator(vector)
        report(name, operator.products)
        return result

    return product


def _first(values: npt.NDArray[np.float64]) -> float | None:
    return float(values[0]) if len(values) else None


def _as_json(extremes: Extremes) -> dict[str, Any]:
    values = extremes.values
    numbers = [[z.real, z.imag] for z in values.tolist()] if np.iscomplexobj(values) else values.tolist()
    return {"values": numbers, "missing": extremes.missing, "exact": extremes.exact}
