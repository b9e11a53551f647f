"""Numbers from features, through torch-fidelity's own functions.

Nothing here extracts or caches: the features of a set of pictures are extracted once, whatever is computed.
torch-fidelity is imported inside the functions, since that takes a second or so.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from gossipgan.errors import UserError


class NotFiniteScore(UserError):  # noqa: N818 (names what was found, which sweeps take for divergence)
    """A score came out as NaN or infinity."""


class Gaussian(NamedTuple):
    """Mean ``(length,)`` float32 and covariance ``(length, length)`` float64 of features."""

    mean: np.ndarray[Any, np.dtype[np.float32]]
    covariance: np.ndarray[Any, np.dtype[np.float64]]


def fit_gaussian(features: torch.Tensor) -> Gaussian:
    """The Gaussian that FID compares, of features ``(N, length)``."""
    from torch_fidelity.metric_fid import fid_features_to_statistics

    statistics = fid_features_to_statistics(features)
    return Gaussian(statistics["mu"], statistics["sigma"])


def frechet_distance(one: Gaussian, other: Gaussian) -> float:
    """FID (Heusel et al. 2017, equation 6): ``|m - n|^2 + tr(C + D - 2 (C D)^(1/2))``; at least 0, lower is better."""
    from torch_fidelity.metric_fid import KEY_METRIC_FID, fid_statistics_to_metric

    first, second = ({"mu": g.mean, "sigma": g.covariance} for g in (one, other))
    return _finite("fid", fid_statistics_to_metric(first, second, verbose=False)[KEY_METRIC_FID])


def inception_score(logits: torch.Tensor) -> float:
    """Inception Score (Salimans et al. 2016) of logits ``(N, classes)``: ``exp E KL(p(y|x) || p(y))``, mean of ten
    splits; from 1 to the number of classes, higher is better."""
    from torch_fidelity.metric_isc import KEY_METRIC_ISC_MEAN, isc_features_to_metric

    return _finite("is", isc_features_to_metric(logits)[KEY_METRIC_ISC_MEAN])


def kernel_distance(generated: torch.Tensor, reference: torch.Tensor, subsets: int, subset_size: int) -> float:
    """KID (Binkowski et al. 2018): unbiased squared MMD with a cubic kernel, mean over random subsets; near 0 is best,
    and slightly below 0 is possible.

    A ``subset_size`` beyond the number of either's pictures is lowered to it.
    """
    from torch_fidelity.metric_kid import KEY_METRIC_KID_MEAN, kid_features_to_metric

    scores = kid_features_to_metric(
        generated,
        reference,
        kid_subsets=subsets,
        kid_subset_size=min(subset_size, len(generated), len(reference)),
        verbose=False,
    )
    return _finite("kid", scores[KEY_METRIC_KID_MEAN])


def precision_recall(generated: torch.Tensor, reference: torch.Tensor, neighbours: int) -> tuple[float, float]:
    """Precision and recall (Kynkaanniemi et al. 2019), both in [0, 1], higher is better.

    Precision: the share of generated pictures within a real picture's ball, which reaches to its k-th nearest real
    neighbour. Recall: the same with the roles exchanged. Takes memory for all pairs.
    """
    from torch_fidelity.metric_prc import KEY_METRIC_PRECISION, KEY_METRIC_RECALL, prc_features_to_metric

    scores = prc_features_to_metric(generated, reference, prc_neighborhood=neighbours, verbose=False)
    return _finite("precision", scores[KEY_METRIC_PRECISION]), _finite("recall", scores[KEY_METRIC_RECALL])


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise NotFiniteScore(f"{name} came out as {value}: the features are degenerate; use more pictures")
    return value
