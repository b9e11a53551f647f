"""Feature extractors and fidelity metrics: what a generator's pictures are measured with."""

from gossipgan.evaluation.extractor import Extractor, train_extractor
from gossipgan.evaluation.finished import evaluate_run
from gossipgan.evaluation.ruler import Ruler
from gossipgan.evaluation.sampling import NotFiniteSamples, sample

__all__ = ["Extractor", "NotFiniteSamples", "Ruler", "evaluate_run", "sample", "train_extractor"]
