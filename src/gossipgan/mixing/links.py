"""The network between learners' hosts: bandwidth and latency, in the words that Linux's ``tc`` uses."""

import re
from dataclasses import dataclass

from gossipgan.errors import UserError

_BITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) ?([a-zA-Z]+)")


@dataclass(frozen=True)
class Link:
    """A host's link to all others: full duplex, so that it sends and receives at once.

    Attributes:
        bandwidth: bits a second, each way.
        latency: seconds until the first bit of a message arrives.
    """

    bandwidth: float
    latency: float

    def seconds(self, size: float) -> float:
        """How long ``size`` bytes take, one way, latency included."""
        return self.latency + 8.0 * size / self.bandwidth


def parse_bandwidth(text: str, where: str) -> float:
    """Bits a second from words like ``100mbit``; units bit, kbit, mbit, gbit (powers of 1,000)."""
    return _parse(text, _BITS, where, "100mbit", (1.0, 1e15))


def parse_latency(text: str, where: str) -> float:
    """Seconds from words like ``1ms``; units us, ms, s. 0 needs none."""
    return _parse("0s" if text.strip() == "0" else text, _SECONDS, where, "1ms", (0.0, 3600.0))


def _parse(text: str, units: dict[str, float], where: str, example: str, bounds: tuple[float, float]) -> float:
    match = _QUANTITY.fullmatch(text.strip())
    unit = units.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise UserError(f"{where} {text}: must be a number and one of {', '.join(units)}, such as {example}")
    value = float(match[1]) * unit
    least, most = bounds
    if not least <= value <= most:
        base = next(name for name, factor in units.items() if factor == 1.0)
        raise UserError(f"{where} {text}: must be from {least:g} to {most:g} {base}, such as {example}")
    return value
