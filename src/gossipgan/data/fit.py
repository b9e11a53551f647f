"""A picture of any size as one of the store: grey or RGB, square."""

import numpy as np
import numpy.typing as npt
from PIL import Image


def fit(picture: Image.Image, size: int, channels: int) -> npt.NDArray[np.uint8]:
    """Convert, crop the centre square and scale it to ``size``.

    Cropping before scaling covers the same area as scaling the shorter side and cropping then, and needs
    no memory for what is cut away. Scaling is Pillow's bicubic, whose support grows with the factor, so that
    it does not alias (Parmar et al. 2022, "On Aliased Resizing and Surprising Subtleties in GAN
    Evaluation"). A picture that has the size already keeps its pixels.

    Args:
        picture: mode L or RGB.
        size: height and width of the result, in pixels.
        channels: 1 for grey (ITU-R 601 luma), 3 for RGB.

    Returns:
        (channels, size, size).
    """
    side = min(picture.size)
    if picture.size != (side, side):
        left, top = (picture.width - side) // 2, (picture.height - side) // 2
        picture = picture.crop((left, top, left + side, top + side))
    picture = picture.convert("L" if channels == 1 else "RGB")
    if side != size:
        picture = picture.resize((size, size), Image.Resampling.BICUBIC)
    pixels = np.asarray(picture, dtype=np.uint8)
    return pixels[np.newaxis] if channels == 1 else pixels.transpose(2, 0, 1)
