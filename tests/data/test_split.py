import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossipgan.data.split import draw_split
from gossipgan.errors import UserError

counts = st.integers(5, 300)
seeds = st.integers(0, 2**32)


@given(count=counts, seed=seeds)
def test_a_drawn_split_is_disjoint_complete_and_a_fifth(count: int, seed: int) -> None:
    draw = draw_split(count, 0, held_out=None, limit=None, seed=seed)
    assert sorted([*draw.held_out, *draw.train]) == list(range(count))
    assert len(draw.held_out) == draw.held_out_count == count // 5
    assert draw.train_count == count - count // 5


@given(train=st.integers(1, 200), test=st.integers(1, 200), seed=seeds)
def test_a_source_with_a_test_split_keeps_it(train: int, test: int, seed: int) -> None:
    draw = draw_split(train + test, test, held_out=None, limit=None, seed=seed)
    assert sorted(draw.train) == list(range(train))
    assert sorted(draw.held_out) == list(range(train, train + test))
    assert draw.kind == "own"


@given(count=counts, seed=seeds, data=st.data())
def test_a_limit_caps_training_and_leaves_the_held_out_pictures_as_they_are(
    count: int, seed: int, data: st.DataObject
) -> None:
    held_out = data.draw(st.integers(1, count - 1))
    limit = data.draw(st.integers(1, 2 * count))
    free = draw_split(count, 0, held_out=held_out, limit=None, seed=seed)
    capped = draw_split(count, 0, held_out=held_out, limit=limit, seed=seed)
    assert capped.train_count == min(limit, count - held_out)
    assert np.array_equal(free.held_out, capped.held_out)
    assert np.array_equal(free.train, capped.train)


def test_the_order_follows_the_seed_alone() -> None:
    first, again, other = (draw_split(100, 0, held_out=None, limit=None, seed=seed).train for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_first_pictures_of_a_split_are_a_random_subset_of_a_sorted_source() -> None:
    labels = np.repeat(np.arange(10), 500)
    draw = draw_split(5000, 0, held_out=None, limit=500, seed=0)
    per_class = np.bincount(labels[draw.train[:500]], minlength=10)
    # 500 draws over ten classes: 50 +- 6.7 each; five standard deviations.
    assert np.all(np.abs(per_class - 50) < 34)


def test_held_out_pictures_are_drawn_from_the_test_split_alone() -> None:
    draw = draw_split(100, 40, held_out=10, limit=None, seed=0)
    assert draw.held_out_count == 10
    assert draw.held_out.min() >= 60
    assert sorted(draw.train) == list(range(60))


@pytest.mark.parametrize(
    ("count", "own_test", "held_out", "says"),
    [
        (4, 0, None, "at least 5"),
        (1, 0, 1, "leave none for training"),
        (10, 0, 10, "at most 9"),
        (10, 4, 5, "has 4"),
        (4, 4, None, "no training pictures"),
    ],
)
def test_too_few_pictures_are_refused(count: int, own_test: int, held_out: int | None, says: str) -> None:
    with pytest.raises(UserError, match=says):
        draw_split(count, own_test, held_out=held_out, limit=None, seed=0)
