"""Methods in words, as reports and MLflow show them."""

from typing import Any

import pytest

from gossipgan.config import Settings
from gossipgan.tracking import describe_method


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "alternating adam"),
        ({"lookahead": {"kind": "joint"}}, "alternating adam + lookahead joint k=5 alpha=0.5"),
        (
            {"lookahead": {"kind": "nested", "super_k": 100}},
            "alternating adam + lookahead nested k=5 alpha=0.5 super k=100 alpha=0.5",
        ),
        (
            {"lookahead": {"kind": "joint", "k_max": 9}, "optimizer": {"name": "dposg", "update": "simultaneous"}},
            "simultaneous dposg + lookahead joint k=5..9 alpha=0.5",
        ),
        ({"mixing": {"kind": "allreduce", "learners": 4}}, "alternating adam + allreduce, 4 learners"),
        (
            {"mixing": {"kind": "gossip", "learners": 8, "rounds": 3, "wire": "int8"}},
            "alternating adam + gossip ring 3 rounds in int8, 8 learners",
        ),
    ],
)
def test_a_method_is_told_from_others_by_its_words(settings: dict[str, Any], words: str) -> None:
    assert describe_method(Settings.model_validate(settings)) == words
