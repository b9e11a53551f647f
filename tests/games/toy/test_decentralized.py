"""DPOSG on the bilinear game: mixing matrices, the recursion against two oracles, the rates."""

import time
from itertools import islice, repeat

import numpy as np
import pytest

from gossipgan.errors import UserError
from gossipgan.games.toy import BilinearGame, BilinearSetup, dposg, mixing_matrix, predicted, stream
from gossipgan.games.toy.decentralized import consensus_distance
from gossipgan.games.toy.game import ROTATION
from gossipgan.games.toy.methods import OptimisticGDA

ETA = 0.2


def _starts(learners: int, dim: int) -> np.ndarray:
    return np.stack([stream(7, "start", learner).standard_normal((2, dim)) for learner in range(learners)])


@pytest.mark.parametrize(
    ("learners", "ring", "ring_rounds", "exponential", "exponential_rounds"),
    [(4, 0.333, 3, 0.333, 3), (8, 0.805, 11, 0.500, 4), (16, 0.949, 45, 0.600, 5), (32, 0.987, 179, 0.667, 6)],
)
def test_mixing_matrices_have_the_published_spectra(
    learners: int, ring: float, ring_rounds: int, exponential: float, exponential_rounds: int
) -> None:
    for topology, published, rounds in (("ring", ring, ring_rounds), ("exponential", exponential, exponential_rounds)):
        second = np.sort(np.abs(np.linalg.eigvals(mixing_matrix(topology, learners))))[-2]

        assert second == pytest.approx(published, abs=5.1e-4)
        assert second**rounds <= 0.1 < second ** (rounds - 1)


@pytest.mark.parametrize("topology", ["ring", "complete", "exponential"])
@pytest.mark.parametrize("learners", [1, 2, 3, 4, 5, 8, 13])
def test_mixing_matrices_are_doubly_stochastic(topology: str, learners: int) -> None:
    mixing = mixing_matrix(topology, learners)

    np.testing.assert_allclose(mixing.sum(axis=0), 1, rtol=1e-14)
    np.testing.assert_allclose(mixing.sum(axis=1), 1, rtol=1e-14)
    assert (mixing >= 0).all()
    assert (np.diag(mixing) > 0).all()


def test_without_mixing_every_learner_does_optimistic_gradient_descent_ascent() -> None:
    game = BilinearGame.drawn(6, [1])
    start = _starts(5, 6)
    method, expected = OptimisticGDA(ETA), start

    # With one same gradient for the first step and the one before it, Z_1 = X_0 - eta g_0.
    for _, z in islice(dposg(ETA, np.eye(5), 3, start, repeat(game.field)), 50):
        expected = method.step(expected, game.field)
        np.testing.assert_allclose(z, expected, rtol=1e-11)


@pytest.mark.parametrize("topology", ["ring", "exponential", "complete"])
@pytest.mark.parametrize("batch", [2, 6])
def test_it_is_the_papers_recursion_written_out_with_dense_matrices(topology: str, batch: int) -> None:
    learners, dim, rounds, steps = 8, 6, 3, 50
    game = BilinearGame.drawn(dim, [1])
    streams = [[stream(3, "batches", learner) for learner in range(learners)] for _ in range(2)]
    start = _starts(learners, dim)
    mixing = mixing_matrix(topology, learners)
    batches = game.batches(batch, streams[1])

    # Columns are learners; a player's coordinates are stacked, x above y.
    def gradient(w: np.ndarray) -> np.ndarray:
        taken = next(batches)
        mask, offset = (np.broadcast_to(part, (learners, *part.shape[1:])) for part in (taken.mask, taken.offset))
        columns = []
        for i in range(learners):
            m = np.diag(mask[i, 0])
            x, y = w[:dim, i], w[dim:, i]
            columns.append(np.concatenate([m @ y + offset[i, 0], -(m @ x + offset[i, 1])]))
        return np.column_stack(columns)

    x = z = start.reshape(learners, 2 * dim).T
    w_t = mixing @ mixing @ mixing
    g = gradient(z)
    for ours, _ in islice(dposg(ETA, mixing, rounds, start, game.fields(batch, streams[0])), steps):
        z = x @ w_t - ETA * g
        g = gradient(z)
        x = x @ w_t - ETA * g
        np.testing.assert_allclose(ours.reshape(learners, 2 * dim).T, x, rtol=1e-9, atol=1e-12)


def test_learners_average_moves_as_one_optimistic_learner_whatever_the_topology() -> None:
    game = BilinearGame.drawn(6, [1])
    start = _starts(8, 6)
    method, centralized = OptimisticGDA(ETA), start.mean(axis=0, keepdims=True)

    for _, z in islice(dposg(ETA, mixing_matrix("ring", 8), 1, start, repeat(game.field)), 50):
        centralized = method.step(centralized, game.field)
        np.testing.assert_allclose(z.mean(axis=0, keepdims=True), centralized, rtol=1e-10)


@pytest.mark.parametrize(
    ("topology", "rounds"), [("ring", 1), ("ring", 3), ("exponential", 1), ("exponential", 2), ("complete", 1)]
)
def test_average_and_disagreement_contract_at_the_predicted_rates(topology: str, rounds: int) -> None:
    setup = BilinearSetup(
        "dposg", 0.4, learners=8, topology=topology, rounds=rounds, passes=200, seeds=2, start="normal"
    )

    outcome = setup.run()

    average, disagreement = outcome.compared("contraction"), outcome.compared("consensus_contraction")
    assert average.predicted == pytest.approx(predicted(OptimisticGDA(0.4), ROTATION), rel=1e-12)
    assert average.measured == pytest.approx([average.predicted] * 2, rel=1e-4)
    assert disagreement.measured == pytest.approx([disagreement.predicted] * 2, rel=0.02)


def test_more_learners_average_the_noise_of_their_batches() -> None:
    def end(learners: int) -> float:
        setup = BilinearSetup(
            "dposg", 0.1, learners=learners, topology="complete", dim=20, batch=10, passes=200, seeds=4
        )
        return float(setup.run().trajectory.distance[-1].mean())

    # Independent noise of 16 learners is 4 times smaller in their average.
    assert end(1) / end(16) == pytest.approx(4, rel=0.35)


def test_a_thousand_learners_play_in_seconds_and_agree() -> None:
    setup = BilinearSetup("dposg", 0.3, learners=1024, topology="exponential", passes=60, seeds=1, start="normal")
    began = time.perf_counter()
    outcome = setup.run()

    consensus = outcome.trajectory.consensus
    # About one, on one core; the rest is for a busy machine.
    assert time.perf_counter() - began < 20
    assert consensus is not None
    assert consensus[-1, 0] < 1e-3 * consensus[0, 0]
    assert outcome.trajectory.distance[-1, 0] < 0.06 * outcome.trajectory.distance[0, 0]


def test_the_consensus_distance_is_the_root_mean_square_from_the_average() -> None:
    assert consensus_distance(np.array([[[3.0], [4.0]], [[-3.0], [-4.0]]])) == pytest.approx([5.0])


@pytest.mark.parametrize(
    ("method", "given", "says"),
    [
        ("dposg", {"topology": "star"}, "--topology star: unknown; allowed are ring, complete, exponential"),
        ("dposg", {"learners": 0}, "--learners 0: must be at least 1"),
        ("dposg", {"rounds": 0}, "--rounds 0: must be at least 1"),
        ("dposg", {"k": 5}, "--k: dposg has no Lookahead; leave it out"),
        ("ogda", {"learners": 8}, "--learners: ogda has one learner; use --method dposg"),
        ("la-gda", {"rounds": 2}, "--rounds: la-gda has one learner; use --method dposg"),
        ("la-dposg", {}, "--method la-dposg: unknown"),
    ],
)
def test_a_mistake_about_learners_is_one_line(method: str, given: dict[str, object], says: str) -> None:
    with pytest.raises(UserError) as error:
        BilinearSetup(method, 0.3, **given)

    assert str(error.value).startswith(says)
