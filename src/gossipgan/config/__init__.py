"""``params.yaml`` as typed settings, overrides, fingerprint."""

from gossipgan.config.fingerprint import fingerprint, fingerprinted, flatten
from gossipgan.config.load import EXPERIMENT_SECTIONS, ParamsFile, load_params, nearest, parse_override, read_yaml
from gossipgan.config.schema import params_schema
from gossipgan.config.settings import (
    ERROR_FEEDBACK_WIRES,
    AveragingSettings,
    DataSettings,
    EvaluationSettings,
    ExtractorSettings,
    GameSettings,
    Iterate,
    LookaheadSettings,
    Metric,
    MixingSettings,
    OptimizerSettings,
    PlayerSettings,
    Settings,
    TrackingSettings,
    TrainingSettings,
)

__all__ = [
    "ERROR_FEEDBACK_WIRES",
    "EXPERIMENT_SECTIONS",
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
    "ParamsFile",
    "PlayerSettings",
    "Settings",
    "TrackingSettings",
    "TrainingSettings",
    "fingerprint",
    "fingerprinted",
    "flatten",
    "load_params",
    "nearest",
    "params_schema",
    "parse_override",
    "read_yaml",
]
