from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image

from gossipgan.data.fit import fit


def test_a_picture_of_the_right_size_keeps_its_pixels(noise: Callable[..., np.ndarray]) -> None:
    grey, rgb = noise(8, 8), noise(8, 8, 3)
    assert np.array_equal(fit(Image.fromarray(grey), 8, 1), grey[None])
    assert np.array_equal(fit(Image.fromarray(rgb), 8, 3), rgb.transpose(2, 0, 1))


def test_grey_is_the_luma_of_itu_r_601_and_rgb_of_grey_repeats_it(noise: Callable[..., np.ndarray]) -> None:
    rgb = noise(8, 8, 3)
    luma = rgb @ np.array([0.299, 0.587, 0.114])
    assert np.abs(fit(Image.fromarray(rgb), 8, 1)[0] - luma).max() <= 1
    grey = noise(8, 8)
    assert np.array_equal(fit(Image.fromarray(grey), 8, 3), np.stack([grey] * 3))


@pytest.mark.parametrize(("height", "width"), [(90, 60), (60, 90), (61, 90), (60, 60)])
def test_resizing_agrees_with_torch_antialiased_bicubic_of_the_centre(
    height: int, width: int, noise: Callable[..., np.ndarray]
) -> None:
    pixels = noise(height, width)
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    centre = torch.from_numpy(pixels[top : top + side, left : left + side].astype(np.float32))[None, None]
    expected = torch.nn.functional.interpolate(
        centre, size=(16, 16), mode="bicubic", antialias=True, align_corners=False
    ).clamp(0, 255)
    assert np.abs(fit(Image.fromarray(pixels), 16, 1)[0] - expected[0, 0].numpy()).max() <= 1


def test_resizing_does_not_alias() -> None:
    """Lines of one pixel, black and white, are grey from afar; picking pixels would show one of the two."""
    lines = np.tile(np.array([0, 255], dtype=np.uint8), (64, 32))
    small = fit(Image.fromarray(lines), 8, 1)[0]
    assert np.abs(small[:, 1:-1].astype(int) - 127).max() <= 3


def test_small_pictures_grow() -> None:
    assert np.array_equal(fit(Image.new("L", (3, 4), 9), 8, 1), np.full((1, 8, 8), 9))


def test_a_sliver_costs_no_memory_for_what_is_cut_away() -> None:
    """Scaled before cropping it would have 8 x 8,000,000 pixels."""
    assert fit(Image.new("L", (1, 1_000_000), 7), 8, 1).shape == (1, 8, 8)
