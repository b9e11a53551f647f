"""The classifier as a feature extractor of torch-fidelity's registry.

Importing this module imports torch-fidelity, which takes a second or so: import it where it is needed.
"""

from pathlib import Path
from typing import Any

import torch
from torch_fidelity import FeatureExtractorBase, register_feature_extractor
from torch_fidelity.registry import FEATURE_EXTRACTORS_REGISTRY

from gossipgan.errors import UserError
from gossipgan.evaluation.classifier import Classifier

FEATURES = "features"
LOGITS = "logits"


class ClassifierFeatures(FeatureExtractorBase):  # type: ignore[misc]
    """A trained classifier for ``torch_fidelity.calculate_metrics``: uint8 pictures to features and logits.

    Which weights is said at each use, by ``feature_extractor_weights_path``: the file that the training of the
    extractor wrote. FID, KID and precision/recall use the features, the Inception Score the logits.
    """

    def __init__(
        self,
        name: str,
        features_list: list[str],
        feature_extractor_weights_path: str | Path | None = None,
        **_: Any,
    ) -> None:
        super().__init__(name, features_list)
        if feature_extractor_weights_path is None:
            raise ValueError(f"{name}: feature_extractor_weights_path must name the file of its weights")
        self.classifier = Classifier.load(Path(feature_extractor_weights_path))

    @staticmethod
    def get_provided_features_list() -> tuple[str, ...]:
        return FEATURES, LOGITS

    @staticmethod
    def get_default_feature_layer_for_metric(metric: str) -> str:
        return LOGITS if metric == "isc" else FEATURES

    @staticmethod
    def can_be_compiled() -> bool:
        return False

    @staticmethod
    def get_dummy_input_for_compile() -> torch.Tensor:
        raise NotImplementedError("the pictures' shape depends on the weights")

    def forward(self, pictures: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Of uint8 pictures ``(N, C, H, W)``, what was asked for, in that order."""
        features, logits = self.classifier(pictures)
        provided = {FEATURES: features, LOGITS: logits}
        return tuple(provided[name] for name in self.features_list)


def register(name: str) -> None:
    """Make the classifier known to torch-fidelity under ``name``; again and again is fine.

    Raises:
        UserError: the name is taken by one of torch-fidelity's own extractors.
    """
    registered = FEATURE_EXTRACTORS_REGISTRY.get(name)
    if registered is ClassifierFeatures:
        return
    if registered is not None or name == "inception":
        raise UserError(
            f"extractor.name: {name} is another extractor's name, and metrics would seem to be its; choose another"
        )
    register_feature_extractor(name, ClassifierFeatures)
