"""The noisy game: its field, and the noise of every evaluation."""

from itertools import islice

import numpy as np
import pytest

from gossipgan.games.toy import BilinearGame, NoisyGame, starts, stream


def test_the_exact_field_is_that_of_the_bilinear_game_without_offsets() -> None:
    w = starts(4, [0, 1])

    np.testing.assert_array_equal(NoisyGame(4, 0.5).field(w), BilinearGame.centred(4).field(w))


def test_every_evaluation_has_noise_of_its_own_of_the_given_size() -> None:
    game = NoisyGame(3, 0.5)
    w = starts(3, [0, 1])
    streams = [stream(seed, "noise") for seed in (0, 1)]
    # Two evaluations an iteration.
    noise = np.array([[field(w) - game.field(w) for _ in range(2)] for field in islice(game.fields(streams), 4000)])

    flat = noise.reshape(len(noise), -1)
    assert noise.mean() == pytest.approx(0, abs=0.01)
    assert noise.std() == pytest.approx(0.5, rel=0.01)
    # Seeds, evaluations, players, coordinates: all independent.
    correlations = np.corrcoef(flat.T) - np.eye(flat.shape[1])
    assert np.abs(correlations).max() < 0.08


def test_a_plays_noise_does_not_depend_on_those_beside_it() -> None:
    game = NoisyGame(1, 1.0)
    w = np.zeros((1, 2, 1))
    alone = [field(w)[0] for field in islice(game.fields([stream(0, "noise")]), 60_000)]
    both = [field(w)[0] for field in islice(game.fields([stream(0, "noise"), stream(1, "noise")]), 60_000)]

    np.testing.assert_array_equal(alone, both)
