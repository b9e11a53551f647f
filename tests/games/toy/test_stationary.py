"""The stationary second moment on x*y: closed forms."""

import numpy as np
import pytest

from gossipgan.games.toy import LookaheadSettings, second_moment
from gossipgan.games.toy.game import ROTATION
from gossipgan.games.toy.methods import GDA, Adam, AlternatingGDA, Extragradient, OptimisticGDA

SIGMA = 0.7


@pytest.mark.parametrize("eta", [1e-3, 0.1, 0.3, 0.9])
def test_extragradients_cloud_does_not_shrink_with_its_step_size(eta: float) -> None:
    # w <- M w + eta^2 R xi_1 - eta xi_2 with M'M = (1 - eta^2 + eta^4) I and R a rotation.
    closed_form = 2 * SIGMA**2 * (eta**2 + eta**4) / (eta**2 - eta**4)

    assert closed_form == pytest.approx(2 * SIGMA**2 * (1 + eta**2) / (1 - eta**2), rel=1e-9)
    assert second_moment(Extragradient(eta), ROTATION, SIGMA) == pytest.approx(closed_form, rel=1e-6)


@pytest.mark.parametrize(("eta", "k", "alpha"), [(0.3, 6, 0.5), (0.3, 6, 0.4), (0.1, 10, 0.3), (0.05, 1, 0.5)])
def test_lookahead_gives_gda_a_stationary_cloud(eta: float, k: int, alpha: float) -> None:
    # k steps of I - eta R with noise: sum |lambda|^2j of it; the sync keeps alpha of its amplitude.
    growth = 1 + eta**2
    factor = abs((1 - alpha) + alpha * (1 + 1j * eta) ** k) ** 2
    closed_form = 2 * SIGMA**2 * alpha**2 * (growth**k - 1) / (1 - factor)
    moment = second_moment(GDA(eta), ROTATION, SIGMA, LookaheadSettings(k=k, alpha=alpha))

    if factor < 1:
        assert moment == pytest.approx(closed_form, rel=1e-9)
    else:
        assert moment == np.inf


def test_what_does_not_contract_has_no_stationary_cloud() -> None:
    assert second_moment(GDA(0.1), ROTATION, SIGMA) == np.inf
    assert second_moment(AlternatingGDA(0.3), ROTATION, SIGMA) == np.inf
    assert second_moment(GDA(0.3), ROTATION, SIGMA, LookaheadSettings(k=6, alpha=0.8)) == np.inf


def test_there_is_no_exact_moment_of_adam() -> None:
    assert second_moment(Adam(0.1), ROTATION, SIGMA) is None


def test_optimistic_gda_is_noisier_than_extragradient_which_takes_twice_the_gradients() -> None:
    # As eta goes to 0 both clouds have 2 sigma^2.
    ogda = second_moment(OptimisticGDA(1e-3), ROTATION, SIGMA)

    assert ogda == pytest.approx(second_moment(Extragradient(1e-3), ROTATION, SIGMA), rel=1e-4)
    assert second_moment(OptimisticGDA(0.3), ROTATION, SIGMA) > second_moment(Extragradient(0.3), ROTATION, SIGMA)
