import numpy as np
import pytest
from scipy.stats import ortho_group

from gossipgan.evaluation.eigenvalues import general_extremes, symmetric_extremes

DIMENSION = 400
#: Twelve apart from a crowd at either end, as Hessians of networks have them.
APART = np.array([40.0, 9.0, 7.5, 6.0, 5.5, 5.0, -1.5, -2.0, -2.5, -3.0, -4.5, -8.0])


@pytest.fixture(scope="module")
def basis() -> np.ndarray:
    return ortho_group.rvs(DIMENSION, random_state=0)


@pytest.fixture(scope="module")
def symmetric(basis: np.ndarray) -> np.ndarray:
    crowd = np.random.default_rng(1).uniform(-0.2, 0.2, DIMENSION - len(APART))
    return basis @ np.diag(np.concatenate([APART, crowd])) @ basis.T


@pytest.fixture(scope="module")
def rotating(basis: np.ndarray) -> np.ndarray:
    """Eigenvalues 30, 2 ± 7i, ± 5i, 3, -2 ± i, -4, and a crowd; not normal."""
    matrix = np.diag(np.random.default_rng(1).uniform(-0.2, 0.2, DIMENSION))
    for index, (real, imaginary) in enumerate([(2, 7), (0, 5), (-2, 1)]):
        at = 2 * index
        matrix[at : at + 2, at : at + 2] = [[real, imaginary], [-imaginary, real]]
    for at, value in ((6, 30.0), (7, 3.0), (8, -4.0)):
        matrix[at, at] = value
    matrix += np.triu(np.random.default_rng(2).normal(size=matrix.shape), 10) * 0.05
    return basis @ matrix @ basis.T


def test_iterations_find_both_ends_of_a_symmetric_matrix(symmetric: np.ndarray) -> None:
    largest, smallest = symmetric_extremes(lambda v: symmetric @ v, DIMENSION, 6)

    assert not largest.exact
    assert (largest.missing, smallest.missing) == (0, 0)
    np.testing.assert_allclose(largest.values, APART[:6], rtol=1e-4)
    np.testing.assert_allclose(smallest.values, APART[:5:-1], rtol=1e-4)


def test_iterations_find_the_largest_and_the_leftmost_of_a_matrix_that_rotates(rotating: np.ndarray) -> None:
    largest, leftmost = general_extremes(lambda v: rotating @ v, DIMENSION, 5)

    assert not largest.exact
    assert largest.missing == 0
    assert leftmost.missing <= 2  # beyond the three that stand apart is the crowd, which need not converge
    np.testing.assert_allclose(largest.values, [30, 2 + 7j, 2 - 7j, 5j, -5j], atol=0.02)
    np.testing.assert_allclose(leftmost.values[:3], [-4, -2 + 1j, -2 - 1j], atol=0.02)


def test_a_pair_of_conjugates_is_never_cut_in_two(rotating: np.ndarray) -> None:
    for top in (2, 4):
        largest, _ = general_extremes(lambda v: rotating @ v, DIMENSION, top)
        np.testing.assert_allclose(largest.values, [30, 2 + 7j, 2 - 7j, 5j, -5j][: top + 1], atol=0.02)
        assert largest.missing == 0


@pytest.mark.parametrize("dimension", [2, 7, 299])
def test_small_matrices_are_solved_exactly(dimension: int) -> None:
    random = np.random.default_rng(0).normal(size=(dimension, dimension))
    values = np.linalg.eigvals(random)

    largest, smallest = symmetric_extremes(lambda v: (random + random.T) @ v, dimension, 5)
    magnitude, leftmost = general_extremes(lambda v: random @ v, dimension, 5)

    assert largest.exact
    assert magnitude.exact
    np.testing.assert_allclose(largest.values, np.linalg.eigvalsh(random + random.T)[::-1][:5])
    np.testing.assert_allclose(smallest.values, np.linalg.eigvalsh(random + random.T)[:5])
    np.testing.assert_allclose(np.abs(magnitude.values[:5]), np.sort(np.abs(values))[::-1][:5])
    np.testing.assert_allclose(leftmost.values.real[:5], np.sort(values.real)[:5])
    for end in (magnitude, leftmost):
        assert sorted(end.values, key=lambda z: z.imag)[0] == np.conj(sorted(end.values, key=lambda z: z.imag)[-1])


def test_more_than_the_iterations_have_room_for_are_found_exactly(symmetric: np.ndarray) -> None:
    largest, smallest = symmetric_extremes(lambda v: symmetric @ v, DIMENSION, 100)

    assert largest.exact  # a basis of 4 times as many has no room
    assert len(largest.values) == len(smallest.values) == 100
    np.testing.assert_allclose(largest.values, np.linalg.eigvalsh(symmetric)[::-1][:100])


def test_what_does_not_converge_is_left_out_and_counted() -> None:
    # Towards the upper end one is far apart; the lower end crowds up to zero, and of that a small share is asked.
    values = np.concatenate([np.linspace(1e-6, 1, 2999), [5.0]])

    largest, smallest = symmetric_extremes(lambda v: values * v, 3000, 1)
    leftmost = general_extremes(lambda v: values * v, 3000, 3)[1]

    assert largest.missing == 0
    assert largest.values == pytest.approx([5.0], rel=1e-6)
    for end, wanted in ((smallest, 1), (leftmost, 3)):
        assert end.missing > 0
        assert len(end.values) == wanted - end.missing
        assert np.isclose(end.values[:, None], values, rtol=1e-3).any(axis=1).all()


def test_a_matrix_of_zeros_has_eigenvalues_of_zero() -> None:
    for ends in (symmetric_extremes, general_extremes):
        for end in ends(np.zeros_like, 1000, 4):
            assert end.missing == 0
            np.testing.assert_array_equal(end.values, np.zeros(4))


def test_the_same_matrix_gives_the_same_bits(rotating: np.ndarray) -> None:
    first, second = (general_extremes(lambda v: rotating @ v, DIMENSION, 5) for _ in range(2))

    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
