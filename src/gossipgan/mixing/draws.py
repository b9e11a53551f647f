"""Random draws with addresses, for graphs and matchings."""

import hashlib
import random


def draw(seed: int, purpose: str, number: int) -> random.Random:
    """The generator of a numbered draw for a purpose; it depends on (seed, purpose, number) and on nothing else.

    Python's own, because its ``random()`` gives the same numbers in every version.
    """
    digest = hashlib.sha256(f"{seed}/{purpose}/{number}".encode()).digest()
    return random.Random(int.from_bytes(digest[:16]))
