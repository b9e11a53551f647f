"""Which pictures are trained on and which are held out: a fixed draw."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from gossipgan.errors import UserError


@dataclass(frozen=True)
class Draw:
    """Candidates for both splits, in the order in which they are taken.

    Where ``kind`` is ``own``, ``held_out`` indexes the source's test part and ``train`` the rest. Where it is
    ``drawn``, the two follow each other in one shuffle of all: a held-out picture that turns out to be
    unreadable is replaced by the next one, which training then does not get.

    Attributes:
        held_out: indices of candidates; the first ``held_out_count`` that can be read are held out.
        train: indices of candidates; the first ``train_count`` that can be read are trained on.
    """

    kind: Literal["own", "drawn"]
    held_out: npt.NDArray[np.int64]
    train: npt.NDArray[np.int64]
    held_out_count: int
    train_count: int


def draw_split(count: int, own_test: int, *, held_out: int | None, limit: int | None, seed: int) -> Draw:
    """Draw the split of ``count`` pictures, of which the last ``own_test`` are the source's own test split.

    With a test split of its own, held-out pictures come only from there (all, or ``held_out`` of them), so
    that nobody trains on a benchmark's test pictures. Without one, a fifth (rounded down) or ``held_out`` of
    all pictures are held out. Both splits are in shuffled order, so that the first pictures of a split are
    a random subset of it even where the source is sorted by class.

    Raises:
        UserError: too few pictures.
    """
    random = np.random.default_rng(seed)
    if own_test:
        train, wanted = random.permutation(count - own_test), held_out or own_test
        test = random.permutation(own_test) + (count - own_test)
        if wanted > own_test:
            raise UserError(
                f"data.held_out: {wanted} pictures are wanted, but the source's own test split "
                f"has {own_test}; at most that many, or null for all of them"
            )
        if not len(train):
            raise UserError("data: the source has a test split but no training pictures")
        return Draw("own", test, train, wanted, min(limit or len(train), len(train)))
    wanted = held_out or count // 5
    if not wanted:
        raise UserError(
            f"data: too few pictures: {count}, and a fifth is to be held out; at least 5 are wanted, or data.held_out"
        )
    if wanted >= count:
        raise UserError(
            f"data.held_out: {wanted} of {count} pictures leave none for training; at most {count - 1} here"
        )
    order = random.permutation(count)
    rest = count - wanted
    return Draw("drawn", order[:wanted], order[wanted:], wanted, min(limit or rest, rest))
