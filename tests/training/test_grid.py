"""Sample grids: every picture in its place."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from gossipgan.training.grid import save_grid


@pytest.mark.parametrize("channels", [1, 3])
def test_picture_number_9_of_8_columns_stands_in_row_1_column_1(tmp_path: Path, channels: int) -> None:
    pictures = torch.randint(0, 256, (16, channels, 5, 4), dtype=torch.uint8)
    save_grid(pictures, tmp_path / "grid.png")
    grid = np.asarray(Image.open(tmp_path / "grid.png")).reshape(10, 32, channels)
    assert np.array_equal(grid[5:10, 4:8], pictures[9].permute(1, 2, 0).numpy())
