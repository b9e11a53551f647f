"""What fresh seeds said of a sweep's best trials, read from the file that ``gossipgan sweep confirm`` leaves.

What is not known here is passed over, and what is missing is left out: the file may be of another version.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gossipgan.errors import UserError


class Arm(NamedTuple):
    """A trial's settings, or a baseline, at fresh seeds.

    Attributes:
        scores: by seed; None of a run that did not end well.
        mean, low, high: over seeds, and the interval of the mean.
        sentence: how it stands to the baseline; empty for the baseline.
    """

    name: str
    scores: dict[str, float | None]
    mean: float | None
    low: float | None
    high: float | None
    sentence: str


class Confirmation(NamedTuple):
    """Candidates against a baseline, at seeds that no trial has seen.

    Attributes:
        metric: full name of the score; empty if the file does not say.
        images: real pictures that every run saw; None if the file does not say.
        baselines: what they are held against first.
        conclusion: in a sentence; empty if the file has none.
        content: the file, whole.
    """

    metric: str
    minimize: bool
    seeds: tuple[str, ...]
    images: int | None
    candidates: tuple[Arm, ...]
    baselines: tuple[Arm, ...]
    conclusion: str
    content: dict[str, Any]

    @property
    def best(self) -> Arm | None:
        """The candidate with the best mean over the fresh seeds."""
        known = [(arm.mean if self.minimize else -arm.mean, arm) for arm in self.candidates if arm.mean is not None]
        return min(known, key=lambda one: one[0])[1] if known else None


def read_confirmation(path: Path) -> Confirmation | None:
    """A confirmation file; None where there is none.

    Raises:
        UserError: it is not JSON, or no mapping.
    """
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{path}: not valid JSON; run gossipgan sweep confirm again") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: a mapping is wanted; run gossipgan sweep confirm again")
    baselines = content.get("baselines") or ([content["baseline"]] if content.get("baseline") else [])
    images = content.get("images")
    return Confirmation(
        metric=str(content.get("metric", "")),
        minimize=bool(content.get("minimize", True)),
        seeds=tuple(map(str, _list(content.get("seeds")))),
        images=images if isinstance(images, int) else None,
        candidates=tuple(_arm(one) for one in _list(content.get("candidates")) if isinstance(one, Mapping)),
        baselines=tuple(_arm(one) for one in _list(baselines) if isinstance(one, Mapping)),
        conclusion=str(content.get("conclusion") or ""),
        content=content,
    )


def _arm(content: Mapping[str, Any]) -> Arm:
    scores = content.get("scores")
    return Arm(
        name=str(content.get("name", "?")),
        scores={str(seed): _number(value) for seed, value in scores.items()} if isinstance(scores, Mapping) else {},
        mean=_number(content.get("mean")),
        low=_number(content.get("low")),
        high=_number(content.get("high")),
        sentence=str(content.get("sentence") or ""),
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
