"""Shards: which pictures of the training split each learner sees.

=========  ==========================================================================================
iid        dealt evenly in a random order; sizes differ by at most one
by-class   sorted by class, then cut into equal pieces: each learner sees few classes
dirichlet  each class's pictures in shares drawn from a symmetric Dirichlet distribution
by-size    in a random order, learner i of n gets i + 1 of 1 + 2 + ... + n parts
=========  ==========================================================================================

Source of the third: Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification" (2019), there by learner; here by class, as is common since.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from gossipgan.errors import UserError

Indices = npt.NDArray[np.int64]


def deal(
    kind: str, count: int, labels: npt.NDArray[np.int64] | None, learners: int, seed: int, concentration: float
) -> list[Indices]:
    """Indices of each learner's pictures: every picture at exactly one learner.

    Args:
        kind: ``iid``, ``by-class``, ``dirichlet`` or ``by-size``.
        count: pictures in all.
        labels: their classes, ``(count,)``; None where there are none.
        learners: at least 1; one learner sees the pictures in their own order.
        seed: of the draws; equal seeds deal equally.
        concentration: of the Dirichlet distribution.

    Raises:
        UserError: a kind that needs classes without them, or a learner that would get no picture.
    """
    if learners == 1:
        return [np.arange(count)]
    if labels is None and kind in ("by-class", "dirichlet"):
        raise UserError(f"mixing.shards: {kind} needs pictures with classes, and these have none; use iid or by-size")
    draws = np.random.default_rng(int.from_bytes(hashlib.sha256(f"{seed}/shards/{kind}".encode()).digest()[:8]))
    order = draws.permutation(count)
    if kind == "iid":
        shards = np.array_split(order, learners)
    elif kind == "by-class":
        assert labels is not None
        shards = np.array_split(order[np.argsort(labels[order], kind="stable")], learners)
    elif kind == "dirichlet":
        assert labels is not None
        shards = _dirichlet(order, labels, learners, concentration, draws)
    else:
        parts = np.cumsum(np.arange(1, learners))
        shards = np.split(order, parts * count // (learners * (learners + 1) // 2))
    for learner, shard in enumerate(shards):
        if not len(shard):
            raise UserError(
                f"mixing.shards: {kind} leaves learner {learner} of {learners} without a picture; take fewer learners, "
                "another seed, or a larger mixing.dirichlet"
            )
    return [np.asarray(shard, dtype=np.int64) for shard in shards]


def _dirichlet(
    order: Indices, labels: Indices, learners: int, concentration: float, draws: np.random.Generator
) -> list[Indices]:
    pieces: list[list[Indices]] = [[] for _ in range(learners)]
    for label in np.unique(labels):
        mine = order[labels[order] == label]
        shares = np.cumsum(draws.dirichlet(np.full(learners, concentration)))[:-1]
        for learner, piece in enumerate(np.split(mine, (shares * len(mine)).round().astype(np.int64))):
            pieces[learner].append(piece)
    # A learner's classes in a mixed order; its sampler shuffles again.
    return [draws.permutation(np.concatenate(piece)) for piece in pieces]
