"""All that is worth knowing of a topology before training with it."""

from dataclasses import asdict, dataclass
from typing import Any

from gossipgan.errors import UserError
from gossipgan.mixing.costs import Cost, Degrees, all_reduce, degrees, gossip, server
from gossipgan.mixing.links import Link
from gossipgan.mixing.schedule import Schedule
from gossipgan.mixing.spectrum import Spectrum

#: Of a float32.
_BYTES = 4


@dataclass(frozen=True)
class Summary:
    """A schedule's contraction and cost.

    Attributes:
        schedule: what is summed up.
        rounds: of gossip in a step.
        rho: contraction a round (see ``Spectrum``).
        contraction: share of the disagreement that a step's rounds leave at most.
        accuracy: share that is wanted.
        rounds_for_accuracy: that leave it; None where no number of rounds does in practice.
        degrees: to how many learners one sends in a round.
        parameters: of a learner's players together, float32.
        link: between hosts.
        gossip, all_reduce, server: what a step costs that way.
    """

    schedule: Schedule
    rounds: int
    rho: float
    contraction: float
    accuracy: float
    rounds_for_accuracy: int | None
    degrees: Degrees
    parameters: int
    link: Link
    gossip: Cost
    all_reduce: Cost
    server: Cost

    @property
    def bytes(self) -> int:
        """Size of a learner's parameters."""
        return self.parameters * _BYTES

    @property
    def rho_in_words(self) -> str:
        """Rho with as many digits as tell it from 1."""
        return f"{self.rho:.4f}" if 0 < self.rho < 0.9995 else f"{self.rho:.10g}"

    def as_json(self) -> dict[str, Any]:
        """What JSON can hold of it; sizes in bytes, times in seconds, bandwidth in bits a second."""
        schedule = self.schedule
        return {
            "topology": schedule.topology,
            "learners": schedule.learners,
            "weights": schedule.weights,
            "period": schedule.period,
            "symmetric": schedule.symmetric,
            "rounds": self.rounds,
            "rho": self.rho,
            "spectral_gap": 1.0 - self.rho,
            "contraction": self.contraction,
            "accuracy": self.accuracy,
            "rounds_for_accuracy": self.rounds_for_accuracy,
            "degree": asdict(self.degrees),
            "parameters": self.parameters,
            "model_bytes": self.bytes,
            "link": asdict(self.link),
            "cost": {
                "gossip": asdict(self.gossip),
                "all_reduce": asdict(self.all_reduce),
                "server": asdict(self.server),
            },
        }


def summarize(schedule: Schedule, rounds: int, accuracy: float, parameters: int, link: Link) -> Summary:
    """Work out all of it.

    Raises:
        UserError: ``rounds``, ``parameters`` or ``accuracy`` out of range.
    """
    for name, value, most in (("rounds", rounds, 10**6), ("parameters", parameters, 10**12)):
        if not 1 <= value <= most:
            raise UserError(f"{name} {value}: must be from 1 to {most:,}")
    if not 1e-12 <= accuracy < 1:
        raise UserError(f"accuracy {accuracy:g}: must be at least 1e-12 and below 1: the share of disagreement left")
    spectrum = Spectrum(schedule)
    size = parameters * _BYTES
    return Summary(
        schedule=schedule,
        rounds=rounds,
        rho=spectrum.rho,
        contraction=spectrum.contraction(rounds),
        accuracy=accuracy,
        rounds_for_accuracy=spectrum.rounds_for(accuracy),
        degrees=degrees(schedule),
        parameters=parameters,
        link=link,
        gossip=gossip(schedule, rounds, size, link),
        all_reduce=all_reduce(schedule.learners, size, link),
        server=server(schedule.learners, size, link),
    )
