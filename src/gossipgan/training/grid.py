"""Sample grids, as PNG files."""

from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from gossipgan.runs import atomic


def save_grid(pictures: Tensor, path: Path, columns: int = 8) -> None:
    """Pictures side by side, touching, row by row.

    Args:
        pictures: uint8 ``(N, C, H, W)`` with C of 1 or 3; N a multiple of ``columns``.
        path: the PNG file to write.
        columns: pictures in a row.
    """
    count, channels, height, width = pictures.shape
    rows = count // columns
    tiled = pictures.view(rows, columns, channels, height, width).permute(0, 3, 1, 4, 2)
    array = tiled.reshape(rows * height, columns * width, channels).to(torch.uint8).numpy()
    image = Image.fromarray(array[:, :, 0] if channels == 1 else array)
    with atomic(path) as temporary:
        image.save(temporary, format="PNG")
