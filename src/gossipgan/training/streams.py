"""Random draws with addresses.

Draw number i of a learner for a purpose depends on (seed, learner, purpose, i) and on nothing else: not on where
the learner runs, on what others draw, or on an interruption. All that is to be saved is how many draws were made.
"""

import hashlib

import torch


class Streams:
    """The random streams of one learner of one run.

    Args:
        seed: the run's seed.
        learner: the learner's number, from 0.
    """

    def __init__(self, seed: int, learner: int) -> None:
        self._address = f"{seed}/{learner}"
        self.draws: dict[str, int] = {}

    def next(self, purpose: str) -> torch.Generator:
        """A generator on the CPU for this stream's next draw."""
        number = self.draws.get(purpose, 0)
        self.draws[purpose] = number + 1
        return self.at(purpose, number)

    def at(self, purpose: str, number: int) -> torch.Generator:
        """The generator of a numbered draw; the count of draws stays as it is."""
        digest = hashlib.sha256(f"{self._address}/{purpose}/{number}".encode()).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest[:8]) >> 1)
