"""A bad mixing matrix is refused in one line that names the row."""

from typing import Any

import numpy as np
import pytest

from gossipgan.errors import UserError
from gossipgan.mixing.checks import check_matrix
from gossipgan.mixing.schedule import Periodic

THIRD = np.full((3, 3), 1 / 3)


def changed(*entries: tuple[int, int, float]) -> Any:
    matrix = THIRD.copy()
    for row, column, value in entries:
        matrix[row, column] = value
    return matrix


@pytest.mark.parametrize(
    ("matrices", "line"),
    [
        ([np.full((2, 3), 0.5)], "a mixing matrix is square, a row and a column a learner; this is 2 x 3"),
        ([np.ones(3)], "this is 3"),
        ([np.ones((2, 2, 2))], "this is 2 x 2 x 2"),
        ([np.ones(())], "this is one number"),
        ([np.ones((0, 0))], "this is 0 x 0"),
        ([changed((1, 2, np.nan))], "row 1, column 2 is not a number: nan"),
        ([changed((2, 0, np.inf))], "row 2, column 0 is not a number: inf"),
        ([changed((1, 0, -0.5), (1, 2, 7 / 6))], "row 1, column 0 is negative: -0.5"),
        ([changed((2, 1, 0.0))], "row 2 sums to 0.666666666666667, not 1 (to 1e-12)"),
        ([changed((2, 1, 1 / 3 + 1e-11))], "row 2 sums to 1.00000000001, not 1"),
        ([np.array([[0.5, 0.5], [0.25, 0.75]])], "column 0 sums to 0.75, not 1"),
        (
            [np.eye(3)],
            "not connected: 3 groups of learners never hear from one another, such as learner 0 from learner 1",
        ),
        ([np.kron(np.eye(2), np.full((2, 2), 0.5))], "2 groups of learners never hear from one another"),
        ([np.array([[0.0, 1.0], [1.0, 0.0]])], "periodic: weights go round in cycles and learners never agree"),
        # A ring of four without weights on oneself: even learners only ever hear from odd ones.
        ([(np.roll(np.eye(4), 1, 0) + np.roll(np.eye(4), -1, 0)) / 2], "row 0 has 0 on the diagonal, sum 1"),
        ([np.roll(np.eye(5), 1, 0)], "periodic"),
        # Each of two swaps is periodic, and both together are a cycle of three.
        ([np.eye(3)[[1, 0, 2]], np.eye(3)[[0, 2, 1]]], "periodic"),
    ],
)
def test_a_bad_matrix_is_one_line(matrices: list[Any], line: str) -> None:
    with pytest.raises(UserError) as refused:
        Periodic("custom", "given", matrices, where="w.csv")

    assert str(refused.value).startswith("w.csv: ")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_good_matrices_pass_without_change() -> None:
    given = changed((0, 0, 1 / 3 + 5e-13))

    np.testing.assert_array_equal(check_matrix(given, "w").toarray(), given)
    assert check_matrix(np.ones((1, 1)), "w").toarray().tolist() == [[1.0]]


def test_a_triangle_without_weights_on_oneself_is_aperiodic() -> None:
    Periodic("custom", "given", [(np.ones((3, 3)) - np.eye(3)) / 2])


def test_a_period_is_connected_if_its_rounds_are_together() -> None:
    pairs = [np.kron(np.eye(2), np.full((2, 2), 0.5)), np.eye(4)]
    pairs[1][1:3, 1:3] = 0.5

    assert Periodic("custom", "given", pairs).period == 2
    with pytest.raises(UserError, match="not connected"):
        Periodic("custom", "given", pairs[1:])
