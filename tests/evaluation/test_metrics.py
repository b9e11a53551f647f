import numpy as np
import pytest
import scipy.linalg
import torch

from gossipgan.errors import UserError
from gossipgan.evaluation.metrics import (
    Gaussian,
    fit_gaussian,
    frechet_distance,
    inception_score,
    kernel_distance,
    precision_recall,
)


def features(count: int, length: int, seed: int, shift: float = 0.0) -> torch.Tensor:
    return torch.randn(count, length, generator=torch.Generator().manual_seed(seed)) + shift


def test_fid_is_the_formula_computed_with_scipy() -> None:
    one, other = features(300, 12, 1), features(400, 12, 2, 0.7) * 1.5
    a, b = one.double().numpy(), other.double().numpy()
    first, second = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root = scipy.linalg.sqrtm(first @ second).real
    expected = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(first + second - 2 * root)
    assert frechet_distance(fit_gaussian(one), fit_gaussian(other)) == pytest.approx(expected, rel=1e-5)


def test_fid_of_known_gaussians() -> None:
    """Commuting covariances: |m - n|^2 + the squared differences of standard deviations."""
    one = Gaussian(np.array([0.0, 0.0], np.float32), np.diag([1.0, 4.0]))
    other = Gaussian(np.array([3.0, 4.0], np.float32), np.diag([9.0, 16.0]))
    assert frechet_distance(one, other) == pytest.approx(25 + (1 - 3) ** 2 + (2 - 4) ** 2)


def test_fid_of_a_collapsed_generator_is_finite() -> None:
    constant = torch.ones(100, 8)
    real = features(200, 8, 1)
    expected = ((1 - real.double().mean(0)) ** 2).sum() + real.double().var(0).sum()
    assert frechet_distance(fit_gaussian(constant), fit_gaussian(real)) == pytest.approx(float(expected), rel=1e-5)


def test_inception_score_is_one_for_equal_answers_and_the_number_of_classes_for_sure_and_even_ones() -> None:
    assert inception_score(torch.zeros(100, 10)) == pytest.approx(1.0)
    sure = 200.0 * torch.eye(2).repeat(5000, 1)
    assert inception_score(sure) == pytest.approx(2.0, rel=1e-2)


def test_kid_is_the_unbiased_estimate_of_the_cubic_kernel() -> None:
    one, other = features(50, 6, 1), features(50, 6, 2, 0.5)
    a, b = one.double().numpy(), other.double().numpy()

    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x @ y.T / 6 + 1) ** 3

    off = ~np.eye(50, dtype=bool)
    expected = kernel(a, a)[off].mean() + kernel(b, b)[off].mean() - 2 * kernel(a, b).mean()
    # a subset of all is the whole set, in another order
    assert kernel_distance(one, other, subsets=2, subset_size=50) == pytest.approx(expected, rel=1e-4)


def test_kid_subsets_are_no_larger_than_either_set() -> None:
    one, other = features(30, 6, 1), features(50, 6, 2)
    assert kernel_distance(one, other, 3, 1000) == kernel_distance(one, other, 3, 30)


def test_precision_and_recall_by_hand() -> None:
    """Real at 0, 1, ..., 9 on a line; generated at 0 and 1 and far away: one near neighbour each."""
    real = torch.arange(10.0)[:, None]
    generated = torch.tensor([[0.2], [0.9], [100.0], [101.0]])
    precision, recall = precision_recall(generated, real, neighbours=1)
    assert precision == pytest.approx(0.5)
    # balls of radius .7 about .2 and .9 (up to rounding): 0 and 1 are in them
    assert recall == pytest.approx(0.2)


def test_a_score_that_is_not_finite_is_said_to_be() -> None:
    with pytest.raises(UserError, match="is came out as nan"):
        inception_score(torch.full((100, 10), torch.nan))
