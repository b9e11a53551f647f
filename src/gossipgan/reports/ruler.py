"""Metric names: what was measured, on whose features, over how many pictures, of which iterate."""

import re
from typing import NamedTuple, Self

from gossipgan.config import ExtractorSettings

#: How a metric is written, and whether less of it is better.
_KINDS: dict[str, tuple[str, bool]] = {
    "fid": ("FID", True),
    "is": ("IS", False),
    "kid": ("KID", True),
    "precision": ("precision", False),
    "recall": ("recall", False),
}

_NAME = re.compile(r"^(?P<kind>[a-z]+)_(?P<extractor>[a-z][a-z0-9]*)_(?P<count>\d+)_(?P<iterate>[a-z]+)$")

#: Stands in an iterate's place where real held-out pictures were measured.
FLOOR = "floor"


class MetricName(NamedTuple):
    """A metric's name in its parts, such as ``fid_digits_2000_ema``."""

    kind: str
    extractor: str
    samples: int
    iterate: str

    @classmethod
    def parse(cls, key: str) -> Self | None:
        """The parts of a metrics file's key; None if it is no metric of ours."""
        match = _NAME.match(key)
        if match is None or match["kind"] not in _KINDS:
            return None
        return cls(match["kind"], match["extractor"], int(match["count"]), match["iterate"])

    @property
    def key(self) -> str:
        """The name as metrics files have it."""
        return f"{self.kind}_{self.extractor}_{self.samples}_{self.iterate}"

    @property
    def label(self) -> str:
        """The name as people read it, always with its ruler: ``FID (digits, 2000 samples, ema)``."""
        what = "real held-out pictures" if self.iterate == FLOOR else f"samples, {self.iterate}"
        return f"{_KINDS[self.kind][0]} ({self.extractor}, {self.samples} {what})"

    @property
    def lower_is_better(self) -> bool:
        """True for the distances (FID, KID)."""
        return _KINDS[self.kind][1]

    @property
    def order(self) -> tuple[int, str, int, str]:
        """Sorts metrics as tables show them."""
        return list(_KINDS).index(self.kind), self.extractor, self.samples, self.iterate


def extractor_name(settings: ExtractorSettings) -> str:
    """What metric names call this extractor."""
    return settings.name if settings.kind == "classifier" else settings.kind
