import pytest
import torch

from gossipgan.evaluation import reference
from gossipgan.evaluation.reference import cache_key

GIVEN = {"data": "abc", "split": "train", "count": 3000, "extractor": "def"}


@pytest.mark.parametrize(
    ("name", "other"), [("data", "abd"), ("split", "held_out"), ("count", 2999), ("extractor", "x")]
)
def test_the_key_changes_with_each_ingredient(name: str, other: str | int) -> None:
    assert cache_key(**{**GIVEN, name: other}) != cache_key(**GIVEN)


def test_the_key_does_not_depend_on_the_order() -> None:
    assert cache_key(**dict(reversed(GIVEN.items()))) == cache_key(**GIVEN)


@pytest.mark.parametrize("library", ["torch-fidelity", "torch", "numpy"])
def test_the_key_changes_with_the_libraries(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, version = cache_key(**GIVEN), reference.version
    monkeypatch.setattr(reference, "version", lambda name: "0" if name == library else version(name))
    assert cache_key(**GIVEN) != before


def test_the_key_changes_with_the_threads() -> None:
    before, threads = cache_key(**GIVEN), torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        assert cache_key(**GIVEN) != before
    finally:
        torch.set_num_threads(threads)
