"""Small real files to prepare."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

Pixels = npt.NDArray[np.uint8]


@pytest.fixture
def noise() -> Callable[..., Pixels]:
    """uint8 noise of a shape, the same each time."""

    def make(*shape: int, seed: int = 0) -> Pixels:
        return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)

    return make


@pytest.fixture
def picture_folder(tmp_path: Path) -> Path:
    """12 grey pictures of 8 x 8 in each of the classes cat and dog; picture n is all n."""
    folder = tmp_path / "pictures"
    for number in range(24):
        file = folder / ("cat" if number < 12 else "dog") / f"{number:02}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), number, dtype=np.uint8)).save(file)
    return folder
