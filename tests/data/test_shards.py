"""How pictures are dealt to learners: all of them, each once, and as unevenly as was asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.data import deal
from gossipgan.errors import UserError

LABELS = np.random.default_rng(0).integers(10, size=2000)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["iid", "by-class", "dirichlet", "by-size"]),
    st.integers(1, 12),
    st.integers(0, 50),
)
def test_every_picture_is_at_exactly_one_learner(kind: str, learners: int, seed: int) -> None:
    shards = deal(kind, len(LABELS), LABELS, learners, seed, concentration=5.0)
    assert len(shards) == learners
    assert np.array_equal(np.sort(np.concatenate(shards)), np.arange(len(LABELS)))


def test_one_learner_sees_the_pictures_in_their_own_order() -> None:
    (shard,) = deal("dirichlet", 7, np.zeros(7, dtype=np.int64), 1, 3, 0.1)
    assert shard.tolist() == list(range(7))


def test_even_shards_differ_by_one_picture_at_most() -> None:
    sizes = [len(shard) for shard in deal("iid", 2000, None, 7, 0, 1.0)]
    assert max(sizes) - min(sizes) <= 1


def test_shards_by_class_hold_few_classes() -> None:
    held = [len(set(LABELS[shard])) for shard in deal("by-class", len(LABELS), LABELS, 5, 0, 1.0)]
    assert max(held) <= 4  # two classes' worth of pictures can touch three or, unevenly sized, four classes


def test_shards_by_size_grow_in_proportion() -> None:
    sizes = [len(shard) for shard in deal("by-size", 2000, None, 4, 0, 1.0)]
    assert sizes == [200, 400, 600, 800]


def test_a_small_concentration_makes_learners_unlike() -> None:
    def unlikeness(concentration: float) -> float:
        """Mean largest share of a class in a shard."""
        shares = []
        for seed in range(10):
            for shard in deal("dirichlet", len(LABELS), LABELS, 4, seed, concentration):
                shares.append(np.bincount(LABELS[shard], minlength=10).max() / len(shard))
        return float(np.mean(shares))

    # Of ten equally frequent classes the largest share is near 1/10 when shares are all alike.
    assert unlikeness(1000.0) < 0.2
    assert unlikeness(0.1) > 2 * unlikeness(1000.0)


def test_seeds_deal_otherwise_and_equal_seeds_alike() -> None:
    first, again, other = (deal("dirichlet", len(LABELS), LABELS, 3, seed, 1.0) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("kind", ["by-class", "dirichlet"])
def test_a_deal_by_class_without_classes_is_refused(kind: str) -> None:
    with pytest.raises(UserError, match=f"mixing.shards: {kind} needs pictures with classes"):
        deal(kind, 100, None, 4, 0, 1.0)


def test_a_learner_without_pictures_is_refused_by_number() -> None:
    with pytest.raises(UserError, match=r"leaves learner \d+ of 50 without a picture"):
        deal("iid", 20, None, 50, 0, 1.0)
