"""Base methods against second implementations."""

import numpy as np
import pytest
import torch

from gossipgan.games.toy import BilinearGame, starts
from gossipgan.games.toy.methods import Adam, AlternatingGDA, ExtraAdam, Extragradient, OptimisticGDA

ETA = 0.1


@pytest.fixture
def game() -> BilinearGame:
    return BilinearGame.drawn(6, [4])


def test_adam_is_torchs(game: BilinearGame) -> None:
    w = starts(6, [4])
    theta = torch.tensor(w, requires_grad=True)
    torchs = torch.optim.Adam([theta], lr=ETA, betas=(0.5, 0.9))
    ours = Adam(ETA, 0.5, 0.9)

    for _ in range(30):
        theta.grad = torch.from_numpy(game.field(theta.detach().numpy()))
        torchs.step()
        w = ours.step(w, game.field)

    np.testing.assert_allclose(w, theta.detach().numpy(), rtol=1e-10)


def test_adam_with_a_negative_beta1_is_its_formula_written_out() -> None:
    # Gradients 1 then 3, beta1 = -.5, beta2 = 0: m = 1.5, then -.75 + 4.5; divided by 1 - beta1^t = 1.5, then .75.
    gradients = iter([np.array(1.0), np.array(3.0)])
    method = Adam(1.0, -0.5, 0.0)

    first = method.step(np.array(0.0), lambda _: next(gradients))
    second = method.step(first, lambda _: next(gradients))

    assert first == pytest.approx(-1.0, rel=1e-7)
    assert second - first == pytest.approx(-(3.75 / 0.75) / 3.0, rel=1e-7)


def test_extra_adam_steps_from_the_point_it_extrapolated_from_with_moments_of_both_gradients() -> None:
    # The field is w itself; beta1 = .5, beta2 = .75, by the formulas of the algorithm.
    eta, w = 0.1, 2.0
    m = 0.5 * w
    v = 0.25 * w**2
    half = w - eta * (m / 0.5) / ((v / 0.25) ** 0.5 + 1e-8)
    m = 0.5 * m + 0.5 * half
    v = 0.75 * v + 0.25 * half**2
    expected = w - eta * (m / (1 - 0.5**2)) / ((v / (1 - 0.75**2)) ** 0.5 + 1e-8)

    assert ExtraAdam(eta, 0.5, 0.75).step(np.array(w), lambda at: at) == pytest.approx(expected, rel=1e-12)


def test_optimistic_gda_is_the_x_and_z_recursion_of_one_learner(game: BilinearGame) -> None:
    method = OptimisticGDA(ETA)
    ours = x = z = starts(6, [4])
    for k in range(40):
        # X_0 = Z_0; from then on X_k = X_{k-1} - eta g(Z_k), and Z_{k+1} = X_k - eta g(Z_k).
        g = game.field(z)
        if k > 0:
            x = x - ETA * g
        z = x - ETA * g
        ours = method.step(ours, game.field)

    np.testing.assert_allclose(ours, z, rtol=1e-11)


def test_extragradient_takes_the_gradient_at_the_trial_point(game: BilinearGame) -> None:
    w = starts(6, [4])
    trial = w - ETA * game.field(w)

    stepped = Extragradient(ETA).step(w, game.field)

    np.testing.assert_allclose(stepped, w - ETA * game.field(trial), rtol=1e-14)


def test_alternating_gda_lets_y_answer_the_moved_x_and_leaves_its_argument() -> None:
    w = np.array([[[1.0], [2.0]]])

    stepped = AlternatingGDA(0.5).step(w, BilinearGame.centred(1).field)

    assert stepped.ravel().tolist() == [0.0, 2.0]
    assert w.ravel().tolist() == [1.0, 2.0]
