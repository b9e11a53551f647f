"""Play: published distances, exactness at alpha = 1, the sync sequence."""

import numpy as np
import pytest

from gossipgan.games.toy import BilinearGame, BilinearSetup, Lookahead, LookaheadSettings, play, starts, stream
from gossipgan.games.toy.lab import BASE_METHODS

PUBLISHED = {
    ("gda", None): (1.3268e1, 1.7603e2, 4.1113e5),
    ("eg", None): (7.7037e-2, 5.9347e-3, 2.7133e-6),
    ("la-gda", 0.8): (1.2166e0, 1.4801e0, 2.6652e0),
    ("la-gda", 0.5): (5.2497e-2, 2.7560e-3, 3.9873e-7),
    ("la-gda", 0.4): (3.7405e-2, 1.3991e-3, 7.3225e-8),
    ("la-eg", 0.5): (1.4540e-3, 2.1142e-6, 6.4992e-15),
}


@pytest.mark.parametrize(("method", "alpha"), PUBLISHED)
def test_distances_after_60_120_and_300_iterations_are_the_published_ones(method: str, alpha: float | None) -> None:
    # At the origin float64 resolves 1e-15 of the start; where the game lies makes no other difference.
    game = BilinearGame.centred(100)
    setup = BilinearSetup(method, 0.3, k=6 if alpha else None, alpha=alpha)

    trajectory = play(game, setup.build(), starts(100, [3]), 300, game.fields(100, []), setup.lookahead)

    for iterations, published in zip((60, 120, 300), PUBLISHED[method, alpha], strict=True):
        at = int(np.flatnonzero(trajectory.iterations == iterations)[0])
        ratio = trajectory.distance[at, 0] / trajectory.distance[0, 0]
        assert ratio == pytest.approx(published, rel=5e-5)


@pytest.mark.parametrize(("method", "alpha"), PUBLISHED)
def test_the_drawn_game_has_the_same_distances_up_to_rounding(method: str, alpha: float | None) -> None:
    setup = BilinearSetup(
        method, 0.3, k=6 if alpha else None, alpha=alpha, passes=600 if "eg" in method else 300, seeds=3
    )

    trajectory = setup.run().trajectory

    assert trajectory.iterations[-1] == 300
    ratio = trajectory.distance[-1] / trajectory.distance[0]
    np.testing.assert_allclose(ratio, PUBLISHED[method, alpha][-1], rtol=1e-4, atol=1e-14)


@pytest.mark.parametrize(
    ("method", "alpha", "notebook"),
    [
        ("gda", None, 3.0e8),
        ("eg", None, 0.0312),
        ("la-gda", 0.5, 3.97e-8),
        ("la-gda", 0.4, 4.39e-9),
        ("la-gda", 0.8, 40.0),
        ("la-eg", 0.5, 5.1e-6),
    ],
)
def test_400_passes_agree_with_the_papers_notebook_counted_its_way(
    method: str, alpha: float | None, notebook: float
) -> None:
    setup = BilinearSetup(method, 0.3, k=6 if alpha else None, alpha=alpha, passes=400, seeds=1, quirk=("notebook",))

    distance = setup.run().trajectory.distance[:, 0]

    assert 9.139 * distance[-1] / distance[0] == pytest.approx(notebook, rel=0.1)


@pytest.mark.parametrize("base", BASE_METHODS)
@pytest.mark.parametrize("batch", [None, 3])
def test_lookahead_with_alpha_1_is_the_base_method_to_the_last_bit(base: str, batch: int | None) -> None:
    plain = BilinearSetup(base, 0.1, dim=10, batch=batch, passes=40, seeds=2)
    pulled = BilinearSetup(
        f"la-{base}", 0.1, k=4, alpha=1.0, super_k=8, super_alpha=1.0, dim=10, batch=batch, passes=40, seeds=2
    )

    np.testing.assert_array_equal(plain.run().trajectory.last, pulled.run().trajectory.last)


def test_the_first_sync_is_real() -> None:
    # Parameter 0, each fast step adds 1, k = 3, alpha = .5, anchored at the start.
    w = np.zeros((1, 2, 1))
    lookahead = Lookahead(w, LookaheadSettings(k=3, alpha=0.5))
    seen = []
    for steps in range(1, 7):
        w = lookahead.sync(w + 1, steps)
        seen.append(w[0, 0, 0])

    assert seen == [1, 2, 1.5, 2.5, 3.5, 3]


def test_the_nested_sync_follows_the_inner_one_and_moves_both_slow_weights() -> None:
    w = np.zeros((1, 2, 1))
    lookahead = Lookahead(w, LookaheadSettings(k=2, alpha=0.5, super_k=4, super_alpha=0.25))
    seen = []
    for steps in range(1, 9):
        w = lookahead.sync(w + 1, steps)
        seen.append(w[0, 0, 0])

    # By hand: inner syncs at 2 (to 1) and 4 (1 + .5 (3 - 1) = 2), then the outer to .25 * 2 = .5; again from .5.
    assert seen == [1, 1, 2, 0.5, 1.5, 1.5, 2.5, 1.0]


def test_a_play_does_not_depend_on_those_beside_it() -> None:
    alone, beside = (BilinearSetup("la-adam", 0.05, dim=8, batch=3, passes=20, seeds=seeds).run() for seeds in (1, 3))

    np.testing.assert_allclose(beside.trajectory.distance[:, 0], alone.trajectory.distance[:, 0], rtol=1e-9)


def test_a_seed_gives_the_same_play_again() -> None:
    setup = BilinearSetup("eg", 0.05, dim=8, batch=3, passes=20, seeds=2)

    np.testing.assert_array_equal(setup.run().trajectory.last, setup.run().trajectory.last)


def test_divergence_ends_infinitely_far_and_raises_nothing() -> None:
    trajectory = BilinearSetup("gda", 5.0, dim=3, passes=900, seeds=2).run().trajectory

    assert np.isinf(trajectory.distance[-1]).all()
    assert np.isinf(trajectory.sum_of_norms[-1]).all()


def test_purposes_have_streams_of_their_own() -> None:
    draws = {
        tuple(stream(seed, purpose, learner).integers(0, 2**62, 4).tolist())
        for seed in (0, 1)
        for purpose in ("a", "b", "start", "batches", "noise")
        for learner in (0, 1)
    }

    assert len(draws) == 20
