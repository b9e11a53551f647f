"""The matrices of steps and cycles, against the methods themselves, stepped on a linear field with errors put in."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gossipgan.games.toy import Lookahead, LookaheadSettings
from gossipgan.games.toy.cycle import cycle
from gossipgan.games.toy.game import Field
from gossipgan.games.toy.methods import GDA, Adam, AlternatingGDA, ExtraAdam, Extragradient, Method, OptimisticGDA

ETA = 0.3
#: Of no symmetry, so that a transposed or swapped entry shows.
JACOBIAN = np.array([[0.4, 1.3], [-0.9, 0.2]])

#: Method, evaluations of the field in a step.
METHODS = [(GDA, 1), (AlternatingGDA, 2), (Extragradient, 2)]


def _field(errors: Iterator[np.ndarray]) -> Field:
    """JACOBIAN @ (x, y), each evaluation off by the next error."""
    return lambda w: (JACOBIAN @ w[0] + next(errors))[None]


def _stepped(method: Method, state: np.ndarray, errors: np.ndarray) -> np.ndarray:
    return method.step(state.reshape(1, 2, 1), _field(iter(errors.reshape(-1, 2, 1)))).ravel()


@pytest.mark.parametrize(("method", "evaluations"), METHODS)
def test_a_step_is_its_matrix_and_the_errors_enter_by_its_noise(
    method: Callable[[float], Method], evaluations: int
) -> None:
    step = method(ETA).linear_step(JACOBIAN)
    draws = np.random.default_rng(1)

    assert step is not None
    assert step.noise.shape == (2, 2 * evaluations)
    for _ in range(5):
        state, errors = draws.standard_normal(2), draws.standard_normal(2 * evaluations)
        expected = step.matrix @ state + step.noise @ errors
        np.testing.assert_allclose(_stepped(method(ETA), state, errors), expected, rtol=1e-12)


def test_optimistic_steps_are_their_matrix_on_point_and_last_gradient() -> None:
    method = OptimisticGDA(ETA)
    step = method.linear_step(JACOBIAN)
    draws = np.random.default_rng(2)
    w, error = draws.standard_normal(2), draws.standard_normal(2)
    # The first step is as if the gradient before it had been the same.
    state = np.concatenate([w, JACOBIAN @ w + error])
    for _ in range(6):
        w = _stepped(method, w, error)
        state = step.matrix @ state + step.noise @ error
        np.testing.assert_allclose(w, state[:2], rtol=1e-12)
        error = draws.standard_normal(2)


@pytest.mark.parametrize(("method", "evaluations"), METHODS)
@pytest.mark.parametrize(
    "lookahead",
    [
        LookaheadSettings(k=3, alpha=0.7),
        LookaheadSettings(k=1, alpha=1.0),
        LookaheadSettings(k=2, alpha=0.8, super_k=6, super_alpha=0.4),
    ],
)
def test_a_cycle_is_what_steps_and_syncs_do(
    method: Callable[[float], Method], evaluations: int, lookahead: LookaheadSettings
) -> None:
    one = cycle(method(ETA), JACOBIAN, lookahead)
    assert one is not None

    def played(state: np.ndarray, errors: np.ndarray) -> np.ndarray:
        w = state.reshape(1, 2, 1)
        slow, base = Lookahead(w, lookahead), method(ETA)
        for steps, of_step in enumerate(errors.reshape(lookahead.cycle, -1), start=1):
            w = slow.sync(base.step(w, _field(iter(of_step.reshape(-1, 2, 1)))), steps)
        return w.ravel()

    size = lookahead.cycle * evaluations * 2
    matrix = np.column_stack([played(state, np.zeros(size)) for state in np.eye(2)])
    noise = np.column_stack([played(np.zeros(2), errors) for errors in np.eye(size)])

    np.testing.assert_allclose(one.matrix, matrix, atol=1e-14)
    np.testing.assert_allclose(one.covariance, noise @ noise.T, atol=1e-14)


def test_there_is_no_matrix_of_adam() -> None:
    assert cycle(Adam(ETA), JACOBIAN) is None
    assert cycle(ExtraAdam(ETA), JACOBIAN, LookaheadSettings(k=3, alpha=0.5)) is None
