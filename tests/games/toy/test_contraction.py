"""Contraction of a cycle: published figures, closed forms, and the same measured on the game."""

import cmath

import numpy as np
import pytest

from gossipgan.games.toy import BilinearGame, LookaheadSettings, measured, play, predicted, starts
from gossipgan.games.toy.game import ROTATION
from gossipgan.games.toy.methods import GDA, AlternatingGDA, Extragradient, Method, OptimisticGDA

ETA = 0.3


def _after(steps: int, method: Method, lookahead: LookaheadSettings | None) -> float:
    """|w| / |w_0| on x'y after some steps of play."""
    game = BilinearGame.centred(dim=7)
    trajectory = play(game, method, starts(7, [0]), steps, game.fields(7, []), lookahead)
    return float(trajectory.distance[-1, 0] / trajectory.distance[0, 0])


@pytest.mark.parametrize(
    ("alpha", "gda", "eg"),
    [(1.0, 1.2950, 0.7739), (0.8, 1.0198, 0.5837), (0.5, 0.7448, 0.5203), (0.4, 0.7199, 0.5762), (0.3, 0.7380, 0.6600)],
)
def test_a_lookahead_cycle_contracts_as_published_and_by_the_closed_form(alpha: float, gda: float, eg: float) -> None:
    lookahead = LookaheadSettings(k=6, alpha=alpha)
    for method, eigenvalue, published in (
        (GDA, 1 + 1j * ETA, gda),
        (Extragradient, 1 + 1j * ETA - ETA**2, eg),
    ):
        closed_form = abs((1 - alpha) + alpha * eigenvalue**6)
        assert predicted(method(ETA), ROTATION, lookahead) == pytest.approx(closed_form, rel=1e-12)
        assert _after(6, method(ETA), lookahead) == pytest.approx(closed_form, rel=1e-12)
        assert closed_form == pytest.approx(published, abs=5.1e-5)


def test_alternating_gda_neither_contracts_nor_expands() -> None:
    assert predicted(AlternatingGDA(ETA), ROTATION, None) == pytest.approx(1.0, abs=1e-12)


def test_lookahead_makes_alternating_gda_contract() -> None:
    # Eigenvalues of [[1, -eta], [eta, 1 - eta^2]]: trace 2 - eta^2, determinant 1.
    trace = 2 - ETA**2
    eigenvalue = (trace + cmath.sqrt(trace**2 - 4)) / 2
    closed_form = abs(0.5 + 0.5 * eigenvalue**6)
    lookahead = LookaheadSettings(k=6, alpha=0.5)

    assert closed_form == pytest.approx(0.6189, abs=5.1e-5)
    assert predicted(AlternatingGDA(ETA), ROTATION, lookahead) == pytest.approx(closed_form, rel=1e-12)
    # Its matrix is not normal, so that one cycle may do more or less; many cycles do not.
    assert _after(6 * 200, AlternatingGDA(ETA), lookahead) ** (1 / 200) == pytest.approx(closed_form, rel=2e-3)


def test_nested_lookahead_rescues_a_diverging_inner_one() -> None:
    inner = 0.2 + 0.8 * (1 + 1j * ETA) ** 6
    closed_form = abs(0.5 + 0.5 * inner**3)
    nested = LookaheadSettings(k=6, alpha=0.8, super_k=18, super_alpha=0.5)

    assert abs(inner) > 1
    assert closed_form == pytest.approx(0.7108, abs=5.1e-5)
    assert predicted(GDA(ETA), ROTATION, nested) == pytest.approx(closed_form, rel=1e-12)
    assert _after(18, GDA(ETA), nested) == pytest.approx(closed_form, rel=1e-12)
    assert _after(36, GDA(ETA), nested) == pytest.approx(closed_form**2, rel=1e-12)


def test_optimistic_gda_contracts_by_its_characteristic_roots() -> None:
    # z^2 = (1 - 2 i eta) z + i eta on the eigenvector of the rotation with eigenvalue i.
    slowest = float(np.abs(np.roots([1, -(1 - 2j * ETA), -1j * ETA])).max())

    assert predicted(OptimisticGDA(ETA), ROTATION, None) == pytest.approx(slowest, rel=1e-12)
    ratio = _after(400, OptimisticGDA(ETA), None) / _after(200, OptimisticGDA(ETA), None)
    assert ratio ** (1 / 200) == pytest.approx(slowest, rel=1e-10)


def test_lookahead_over_optimistic_gda_contracts_as_predicted_with_its_memory_kept() -> None:
    lookahead = LookaheadSettings(k=6, alpha=0.5)
    ratio = _after(240, OptimisticGDA(ETA), lookahead) / _after(120, OptimisticGDA(ETA), lookahead)

    assert ratio ** (1 / 20) == pytest.approx(predicted(OptimisticGDA(ETA), ROTATION, lookahead), rel=1e-3)


def test_the_measured_factor_of_a_geometric_decay_is_its_ratio() -> None:
    cycles = np.arange(60.0)

    assert measured(cycles, 5 * 0.5**cycles) == pytest.approx(0.5, rel=1e-12)
    assert measured(cycles, 5 * 0.5**cycles + 1e-13) == pytest.approx(0.5, rel=1e-3), "rounding's floor is left out"
    assert measured(cycles, 5 * 3.0**cycles) == pytest.approx(3.0, rel=1e-12)
    assert measured(cycles[:1], np.ones(1)) is None
