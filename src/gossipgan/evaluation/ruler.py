"""The ruler: one extractor, one reference, one sample count, for every run that is compared."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from gossipgan.config import EvaluationSettings, Metric, Settings
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import metrics as fidelity
from gossipgan.evaluation.extractor import Extractor, Features
from gossipgan.evaluation.reference import Reference, cache_key, cached_reference, cached_scores


class Ruler:
    """Scores of pictures against all training pictures of a store.

    FID compares with the Gaussian of all of them; KID and precision/recall, which compare pictures with
    pictures, with the first ``evaluation.samples`` of them (a store is in shuffled order).

    Attributes:
        device: where features are extracted.
        floor_count: held-out pictures that the floor is computed from.

    Build it with ``Ruler.open``. It computes on CPU threads as torch is set to at that time.
    """

    def __init__(
        self,
        settings: EvaluationSettings,
        store: Store,
        extractor: Extractor,
        reference: Reference,
        reference_key: str,
        cache: Path,
    ) -> None:
        self._settings = settings
        self._store = store
        self._extractor = extractor
        self._reference = reference
        self._reference_key = reference_key
        self._cache = cache
        self.device = extractor.device
        self.floor_count = min(settings.samples, len(store.images("held_out")))

    @property
    def extractor_identity(self) -> str:
        """Hash of the extractor's weights and architecture: scores compare where it is the same."""
        return self._extractor.identity

    @classmethod
    def open(cls, settings: Settings, store: Store, extractor_dir: Path, cache: Path, device: torch.device) -> "Ruler":
        """A ruler of the settings' extractor; the reference comes from ``cache`` or is computed into it.

        Args:
            settings: the sections ``extractor`` and ``evaluation`` are read.
            store: the prepared pictures.
            extractor_dir: where ``train_extractor`` wrote.
            cache: folder of cached reference statistics; safe to delete, and to share between processes.
            device: where features are extracted.

        Raises:
            UserError: the extractor is missing or does not fit, or there are too few pictures for a FID.
        """
        images = store.images("train")
        _, channels, height, width = images.shape
        extractor = Extractor.open(settings.extractor, (channels, height, width), extractor_dir, device)
        evaluation = settings.evaluation
        if "fid" in evaluation.metrics:
            held_out = len(store.images("held_out"))
            _check_enough(evaluation.samples, extractor, "evaluation.samples")
            _check_enough(len(images), extractor, "training pictures (data.limit, data.held_out)")
            _check_enough(held_out, extractor, "held-out pictures (data.held_out), for the floor")
        key = cache_key(
            data=store.digest,
            split="train",
            count=len(images),
            subset=min(evaluation.samples, len(images)),
            extractor=extractor.identity,
            batch=evaluation.batch,
            device=device.type,
        )

        def compute() -> Reference:
            features = extractor(images, evaluation.batch).features
            return Reference(fidelity.fit_gaussian(features), features[: evaluation.samples].clone())

        return cls(evaluation, store, extractor, cached_reference(cache, key, compute), key, cache)

    def score(self, samples: torch.Tensor, metrics: Sequence[Metric]) -> dict[str, float]:
        """Scores of uint8 pictures ``(N, C, H, W)``, by ``fid``, ``is``, ``kid``, ``precision``, ``recall``.

        Their features are extracted once.

        Raises:
            UserError: too few pictures for a FID, or a score that is not finite.
            ValueError: not uint8, or of another shape than the reference.
        """
        shape = self._store.images("train").shape[1:]
        if samples.dtype != torch.uint8 or tuple(samples.shape[1:]) != tuple(shape):
            raise ValueError(
                f"uint8 pictures of {tuple(shape)} are wanted, not {samples.dtype} of {tuple(samples.shape[1:])}"
            )
        if "fid" in metrics:
            _check_enough(len(samples), self._extractor, "evaluation.samples")
        return self._measure(self._extractor(samples, self._settings.batch), metrics)

    def floor(self, metrics: Sequence[Metric]) -> dict[str, float]:
        """The same scores of real held-out pictures: what a perfect generator would get at ``floor_count``.

        They are the first ``min(evaluation.samples, held-out)`` of the store, which is in shuffled order.

        Raises:
            UserError: too few pictures for a FID, or a score that is not finite.
        """
        key = cache_key(
            reference=self._reference_key,
            split="held_out",
            count=self.floor_count,
            metrics=" ".join(sorted(set(metrics))),
            kid_subsets=self._settings.kid_subsets,
            kid_subset_size=self._settings.kid_subset_size,
            neighbours=self._settings.neighbours,
        )

        def compute() -> dict[str, float]:
            pictures = np.array(self._store.images("held_out")[: self.floor_count])
            return self.score(torch.from_numpy(pictures), metrics)

        return cached_scores(self._cache, key, compute)

    def metric_name(self, metric: str, iterate: str, count: int | None = None) -> str:
        """The metric with its ruler, such as ``fid_digits_2000_ema``.

        Args:
            metric: a key that ``score`` returns.
            iterate: fast, slow, ema, or floor.
            count: pictures the score is of; None: ``evaluation.samples``, and for the floor ``floor_count``.
        """
        if count is None:
            count = self.floor_count if iterate == "floor" else self._settings.samples
        return f"{metric}_{self._extractor.name}_{count}_{iterate}"

    def _measure(self, found: Features, metrics: Sequence[Metric]) -> dict[str, float]:
        settings, reference, scores = self._settings, self._reference, {}
        if "fid" in metrics:
            scores["fid"] = fidelity.frechet_distance(fidelity.fit_gaussian(found.features), reference.gaussian)
        if "is" in metrics:
            scores["is"] = fidelity.inception_score(found.logits)
        if "kid" in metrics:
            scores["kid"] = fidelity.kernel_distance(
                found.features, reference.subset, settings.kid_subsets, settings.kid_subset_size
            )
        if "prc" in metrics:
            scores["precision"], scores["recall"] = fidelity.precision_recall(
                found.features, reference.subset, settings.neighbours
            )
        return scores


def _check_enough(count: int, extractor: Extractor, what: str) -> None:
    """A covariance of fewer pictures than features is singular, and FID biased or not even real."""
    if count <= extractor.length:
        raise UserError(
            f"{what}: {count} are too few for a FID on {extractor.length} features; "
            f"at least {extractor.length + 1} are wanted"
        )
