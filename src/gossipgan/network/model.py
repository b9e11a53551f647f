"""A cost model of exchanges: three numbers, fitted to what was measured, for networks too large to build here.

    seconds of a phase = latency + 8 m s / bandwidth * (1 + contention (1 - 1 / m))

for m messages of s bytes that share the busiest direction of a link; the phases of a step follow one another. Without
contention this is the model of ``mixing.costs``. Arithmetic is not in it: every learner has a host for that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import nnls

from gossipgan.mixing.links import Link
from gossipgan.network.schemes import Phase


@dataclass(frozen=True)
class CostModel:
    """What a phase costs.

    Attributes:
        latency: seconds that a phase takes beside its bytes.
        bandwidth: bits a second, of messages' own bytes.
        contention: share by which messages take longer that share a link with many others; with one other, half of it.
    """

    latency: float
    bandwidth: float
    contention: float

    @classmethod
    def of(cls, link: Link) -> Self:
        """Of a link that is used to the full."""
        return cls(link.latency, link.bandwidth, 0.0)

    @classmethod
    def fit(cls, steps: Sequence[Sequence[Phase]], seconds: Sequence[float], bandwidth: float) -> Self:
        """The model whose relative errors have the least sum of squares, with no number below 0.

        Args:
            steps: phases of steps that were measured.
            seconds: that each took, without arithmetic.
            bandwidth: of the links: the model's is not above it.
        """
        columns = np.array([_columns(step) for step in steps])
        # What is left beside the least that the bytes take.
        rest = np.asarray(seconds) - columns[:, 1] / bandwidth
        size = np.maximum(seconds, columns[:, 1] / bandwidth)
        columns, rest = columns / size[:, None], rest / size
        # Columns of one size: the fit is the same, and better conditioned.
        scale = np.maximum(columns.max(axis=0), np.finfo(float).tiny)
        latency, more, shared = nnls(columns / scale, rest)[0] / scale
        per_bit = 1 / bandwidth + more
        return cls(float(latency), float(1 / per_bit), float(shared / per_bit))

    def seconds(self, step: Sequence[Phase]) -> float:
        """What a step of these phases takes."""
        phases, bits, shared = _columns(step)
        return phases * self.latency + (bits + self.contention * shared) / self.bandwidth


def _columns(step: Sequence[Phase]) -> tuple[float, float, float]:
    """What latency, time a bit, and their contention are multiplied by."""
    bits = [8 * phase.messages * phase.size for phase in step]
    shared = [bit * (1 - 1 / phase.messages) for bit, phase in zip(bits, step, strict=True)]
    return float(len(step)), float(sum(bits)), float(sum(shared))
