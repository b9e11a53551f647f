"""The extractor that the settings name: its stage of the pipeline, and its use."""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from gossipgan.config import ExtractorSettings
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import classifier, inception
from gossipgan.runs import sha256, write_atomic


class Features(NamedTuple):
    """What is known of some pictures: everything that the metrics are computed from."""

    features: torch.Tensor  # (N, length) float32, on the CPU
    logits: torch.Tensor  # (N, classes) float32, on the CPU


def train_extractor(
    settings: ExtractorSettings, store: Store, out: Path, threads: int, device: torch.device | None = None
) -> dict[str, Any]:
    """The pipeline's extractor stage: train the classifier, or find Inception's weights.

    Args:
        settings: the section ``extractor``.
        store: the prepared pictures.
        out: folder for ``extractor.json`` and, for the classifier, ``extractor.safetensors``.
        threads: CPU threads.
        device: where to train the classifier; None: the CPU.

    Returns:
        What is in ``extractor.json``; nothing in it differs between two executions. For the classifier see
        ``train_classifier``; for Inception, kind, name and sha256 of the weights.

    Raises:
        UserError: no labels to train on, or Inception's weights cannot be had.
    """
    if settings.kind == "classifier":
        return classifier.train_classifier(settings, store, out, threads, device)
    path = inception.inception_weights(settings)
    summary = {"kind": "inception", "name": "inception", "sha256": sha256(path)}
    write_atomic(out / classifier.SUMMARY, json.dumps(summary, indent=2) + "\n")
    return summary


class Extractor:
    """A feature extractor of torch-fidelity's registry, ready on a device.

    Attributes:
        name: what metric names carry.
        length: length of a feature vector.
        identity: hash of its weights and architecture.
        device: where it computes.
    """

    def __init__(
        self,
        name: str,
        registered: str,
        layers: tuple[str, str],
        weights: Path,
        device: torch.device,
    ) -> None:
        from torch_fidelity.utils import create_feature_extractor

        self._module = create_feature_extractor(
            registered, list(layers), cuda=False, feature_extractor_weights_path=str(weights), verbose=False
        ).to(device)
        self.device = device
        self._colour = registered == inception.REGISTERED
        self.name = name
        self.identity = hashlib.sha256(f"{registered} {layers} {sha256(weights)}".encode()).hexdigest()

    @classmethod
    def open(
        cls, settings: ExtractorSettings, shape: tuple[int, int, int], folder: Path, device: torch.device
    ) -> "Extractor":
        """The extractor of the settings.

        Args:
            settings: the section ``extractor``.
            shape: channels, height and width of the pictures it is for.
            folder: where ``train_extractor`` wrote.
            device: where to compute.

        Raises:
            UserError: the stage has not run, its files are damaged, or it ran for other pictures or settings.
        """
        if settings.kind == "inception":
            weights = inception.inception_weights(settings)
            try:
                return cls("inception", inception.REGISTERED, (inception.FEATURES, inception.LOGITS), weights, device)
            except RuntimeError:
                raise UserError(inception.wrong_weights(weights)) from None
        from gossipgan.evaluation import registration

        registration.register(settings.name)
        weights = folder / classifier.WEIGHTS
        architecture = classifier.Classifier.load(weights).architecture
        _check_fit(architecture, settings, shape, weights)
        layers = (registration.FEATURES, registration.LOGITS)
        return cls(settings.name, settings.name, layers, weights, device)

    @property
    def length(self) -> int:
        if self._colour:
            return int(inception.FEATURES)
        length: int = self._module.classifier.architecture.features
        return length

    def __call__(self, pictures: torch.Tensor | np.ndarray[Any, np.dtype[np.uint8]], batch: int) -> Features:
        """Features and logits of uint8 pictures ``(N, C, H, W)``, ``batch`` at a time, in float32.

        Pictures of one channel are repeated to three for Inception.
        """
        parts = []
        with torch.no_grad():
            for start in range(0, len(pictures), batch):
                part = pictures[start : start + batch]
                part = part if isinstance(part, torch.Tensor) else torch.from_numpy(np.array(part))
                part = part.to(self.device)
                if self._colour:
                    part = part.expand(-1, 3, -1, -1)
                features, logits = self._module(part)
                parts.append((features.cpu(), logits.cpu()))
        return Features(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _check_fit(
    architecture: classifier.Architecture,
    settings: ExtractorSettings,
    shape: tuple[int, int, int],
    weights: Path,
) -> None:
    channels, height, _ = shape
    trained = (architecture.channels, architecture.size, architecture.width, architecture.features)
    wanted = (channels, height, settings.width, settings.features)
    if trained != wanted:
        words = "{} channels, {} pixels, width {} and {} features"
        raise UserError(
            f"{weights}: trained for {words.format(*trained)}, but {words.format(*wanted)} are wanted; "
            "run the extractor stage again"
        )
    summary = weights.with_name(classifier.SUMMARY)
    try:
        recorded = json.loads(summary.read_text())["sha256"]
    except (OSError, ValueError, KeyError):
        raise UserError(f"{summary}: missing or damaged; run the extractor stage again") from None
    if recorded != sha256(weights):
        raise UserError(f"{weights}: not the weights that {summary.name} records; run the extractor stage again")
