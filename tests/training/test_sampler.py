"""Batches: every picture equally often, in a new order each pass, exact after a resume."""

from collections import Counter

import torch
from hypothesis import given
from hypothesis import strategies as st

from gossipgan.training.sampler import Sampler
from gossipgan.training.streams import Streams

CPU = torch.device("cpu")


@given(count=st.integers(1, 40), batch=st.integers(1, 90), batches=st.integers(1, 12))
def test_no_picture_is_seen_more_than_once_oftener_than_another(count: int, batch: int, batches: int) -> None:
    sampler = Sampler(count, batch, Streams(0, 0), CPU)
    seen: Counter[int] = Counter(dict.fromkeys(range(count), 0))
    for _ in range(batches):
        indices = sampler.next()
        assert len(indices) == batch
        seen.update(indices.tolist())
    assert set(seen) == set(range(count))
    assert max(seen.values()) - min(seen.values()) <= 1


def test_passes_have_different_orders_and_learners_too() -> None:
    first, other = Sampler(50, 50, Streams(0, 0), CPU), Sampler(50, 50, Streams(0, 1), CPU)
    orders = [first.next().tolist(), first.next().tolist(), other.next().tolist()]
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(order) == list(range(50)) for order in orders)


@given(before=st.integers(0, 9))
def test_a_sampler_set_to_a_count_goes_on_exactly(before: int) -> None:
    whole = Sampler(10, 7, Streams(3, 0), CPU)
    batches = [whole.next().tolist() for _ in range(10)]
    resumed = Sampler(10, 7, Streams(3, 0), CPU)
    resumed.drawn = before * 7
    assert [resumed.next().tolist() for _ in range(10 - before)] == batches[before:]
