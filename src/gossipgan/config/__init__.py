"""``params.yaml`` as typed settings, overrides, fingerprint."""

from gossipgan.config.fingerprint import fingerprint, flatten
from gossipgan.config.load import ParamsFile, load_params, parse_override, read_yaml
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
    "flatten",
    "load_params",
    "params_schema",
    "parse_override",
    "read_yaml",
]
