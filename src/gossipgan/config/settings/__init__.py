"""The settings of an experiment, as typed models: the schema of ``params.yaml``.

One file a section; ``experiment.py`` puts them together. Every field says its unit or range in its description;
``gossipgan config schema`` prints them all. Unknown keys are refused.

A field marked ``Placement`` says where or how often something happens, not what is computed; it stays out of the
fingerprint (the data's digest, which is in it, says what the pictures are). One marked ``Content`` names a file, whose
content is in the fingerprint.
"""

from gossipgan.config.settings.averaging import AveragingSettings
from gossipgan.config.settings.data import DataSettings
from gossipgan.config.settings.evaluation import EvaluationSettings, Iterate, Metric
from gossipgan.config.settings.experiment import Settings
from gossipgan.config.settings.extractor import ExtractorSettings
from gossipgan.config.settings.game import GameSettings
from gossipgan.config.settings.lookahead import LookaheadSettings
from gossipgan.config.settings.mixing import ERROR_FEEDBACK_WIRES, MixingSettings
from gossipgan.config.settings.optimizer import OptimizerSettings, PlayerSettings
from gossipgan.config.settings.tracking import TrackingSettings
from gossipgan.config.settings.training import TrainingSettings

__all__ = [
    "ERROR_FEEDBACK_WIRES",
    "AveragingSettings",
    "DataSettings",
    "EvaluationSettings",
    "ExtractorSettings",
    "GameSettings",
    "Iterate",
    "LookaheadSettings",
    "Metric",
    "MixingSettings",
    "OptimizerSettings",
    "PlayerSettings",
    "Settings",
    "TrackingSettings",
    "TrainingSettings",
]
