"""The bytes of a picture file as a picture."""

import io
import logging
import struct
import warnings
import zlib

import numpy as np
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from gossipgan.data.sources.base import BadPicture

# Without a handler, Python would print what Pillow logs about a damaged file beside our own one line.
logging.getLogger("PIL").addHandler(logging.NullHandler())

#: What Pillow's readers are known to raise on damaged files.
_DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    struct.error,
    zlib.error,
)


def decode(content: bytes) -> Image.Image:
    """The first frame of a picture file, turned as its EXIF orientation says, in mode L or RGB.

    Transparent parts show black, and 16-bit grey is scaled to 8 bits.

    Raises:
        BadPicture: not a picture, damaged, truncated, or of pixels that have no range to scale from.
    """
    # A process may have switched this on; half a picture must not pass for a whole one.
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        # Pillow's doubts about metadata are no news to a person; its doubts about pixels are errors.
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(content)) as file:
            file.load()
            picture = ImageOps.exif_transpose(file)
            return _plain(picture)
    except UnidentifiedImageError:
        raise BadPicture("not a picture that can be read" if content else "an empty file") from None
    except (Image.DecompressionBombError, MemoryError):
        raise BadPicture("too many pixels") from None
    except _DAMAGE:
        raise BadPicture("truncated or damaged") from None


def _plain(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith("I;16"):
        wide = np.asarray(picture).astype(np.uint32)
        return Image.fromarray(((wide * 255 + 32767) // 65535).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise BadPicture(f"pixels of mode {picture.mode}, which have no fixed range; 8 bits are wanted")
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", layer.size, (0, 0, 0, 255)), layer)
    return picture.convert("L" if picture.mode in ("1", "L") else "RGB")
