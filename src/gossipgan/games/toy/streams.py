"""Random draws with addresses, in numpy: a stream depends on (seed, learner, purpose) alone."""

import hashlib

import numpy as np


def stream(seed: int, purpose: str, learner: int = 0) -> np.random.Generator:
    """The generator of one purpose of one learner at one seed; the same on every machine."""
    digest = hashlib.sha256(f"{seed}/{learner}/{purpose}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16])))
