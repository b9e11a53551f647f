"""Feature extractors, fidelity metrics and spectra: what generators and games are measured with."""

from gossipgan.evaluation.eigenvalues import Extremes
from gossipgan.evaluation.endpoint import Endpoint, end_of_training
from gossipgan.evaluation.extractor import Extractor, train_extractor
from gossipgan.evaluation.finished import evaluate_run
from gossipgan.evaluation.metrics import NotFiniteScore
from gossipgan.evaluation.ruler import Ruler
from gossipgan.evaluation.sampling import NotFiniteSamples, sample
from gossipgan.evaluation.spectrum import NotFiniteField, PlayerSpectrum, Spectrum, game_spectrum

__all__ = [
    "Endpoint",
    "Extractor",
    "Extremes",
    "NotFiniteField",
    "NotFiniteSamples",
    "NotFiniteScore",
    "PlayerSpectrum",
    "Ruler",
    "Spectrum",
    "end_of_training",
    "evaluate_run",
    "game_spectrum",
    "sample",
    "train_extractor",
]
