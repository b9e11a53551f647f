"""Random draws depend on their address alone."""

import hashlib

import torch

from gossipgan.training.streams import Streams


def test_a_draw_depends_on_its_address_and_not_on_what_else_was_drawn() -> None:
    first, second = Streams(7, 0), Streams(7, 0)
    for _ in range(3):
        first.next("order")
    assert torch.equal(torch.randn(4, generator=first.next("noise")), torch.randn(4, generator=second.next("noise")))


def test_seed_learner_purpose_and_number_each_change_the_draw() -> None:
    draws = [
        torch.rand(1, generator=Streams(seed, learner).at(purpose, number)).item()
        for seed in (1, 2)
        for learner in (0, 1)
        for purpose in ("noise", "penalty")
        for number in (0, 1)
    ]
    assert len(set(draws)) == 16


def test_the_seed_of_an_address_is_the_documented_hash() -> None:
    expected = int.from_bytes(hashlib.sha256(b"5/3/noise/2").digest()[:8]) >> 1
    assert Streams(5, 3).at("noise", 2).initial_seed() == expected


def test_a_count_of_draws_is_all_that_a_resume_needs() -> None:
    whole, first, second = Streams(1, 0), Streams(1, 0), Streams(1, 0)
    expected = [torch.rand(1, generator=whole.next("noise")).item() for _ in range(5)]
    seen = [torch.rand(1, generator=first.next("noise")).item() for _ in range(2)]
    second.draws = dict(first.draws)
    seen += [torch.rand(1, generator=second.next("noise")).item() for _ in range(3)]
    assert seen == expected
