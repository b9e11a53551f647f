import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from gossipgan.data.sources.base import BadPicture
from gossipgan.data.sources.decode import decode

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")


def encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


RGB = Image.fromarray(noise(9, 7, 3))
FILES = {kind: encoded(RGB, kind) for kind in FORMATS}


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM"])
def test_lossless_formats_give_back_their_pixels(kind: str) -> None:
    for pixels in (noise(9, 7), noise(9, 7, 3)):
        assert np.array_equal(np.asarray(decode(encoded(Image.fromarray(pixels), kind))), pixels)


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_truncated_file_is_refused_or_whole(kind: str, data: st.DataObject) -> None:
    whole = FILES[kind]
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        picture = decode(cut)
    except BadPicture:
        return
    # What was cut off were not pixels, such as an end marker.
    assert np.array_equal(np.asarray(picture), np.asarray(decode(whole)))


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_damaged_files_raise_nothing_else(kind: str, data: st.DataObject) -> None:
    content = bytearray(FILES[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, min(len(content) - 1, 200)))] = data.draw(st.integers(0, 255))
    try:
        outcome = decode(bytes(content)).mode
    except BadPicture as bad:
        outcome = str(bad)
    assert outcome in ("L", "RGB", "not a picture that can be read", "truncated or damaged", "too many pixels")


def test_half_a_picture_is_refused_even_where_the_process_allows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(BadPicture, match="truncated"):
        decode(FILES["JPEG"][: len(FILES["JPEG"]) * 3 // 4])


def test_sixteen_bits_are_scaled_to_eight() -> None:
    wide = np.array([[0, 257, 32896, 65535, 128, 129]], dtype=np.uint16)
    picture = decode(encoded(Image.fromarray(wide), "PNG"))
    # v / 257, rounded
    assert np.asarray(picture).tolist() == [[0, 1, 128, 255, 0, 1]]


def test_floats_are_refused() -> None:
    with pytest.raises(BadPicture, match="mode F"):
        decode(encoded(Image.fromarray(np.zeros((4, 4), dtype=np.float32)), "TIFF"))


def test_transparent_parts_show_black() -> None:
    pixels = np.array([[[200, 100, 50, 255], [200, 100, 50, 0], [200, 100, 50, 128]]], dtype=np.uint8)
    shown = np.asarray(decode(encoded(Image.fromarray(pixels), "PNG"))).tolist()
    assert shown == [[[200, 100, 50], [0, 0, 0], [100, 50, 25]]]


def test_palettes_and_two_levels_become_colours_and_greys() -> None:
    palette = RGB.quantize(16)
    assert np.array_equal(np.asarray(decode(encoded(palette, "PNG"))), np.asarray(palette.convert("RGB")))
    assert set(np.unique(decode(encoded(RGB.convert("1"), "PNG")))) <= {0, 255}


def test_the_orientation_in_exif_is_followed() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the 0th row is the visual right-hand side: turn clockwise
    turned = decode(encoded(RGB, "PNG", exif=exif))
    assert np.array_equal(np.asarray(turned), np.rot90(np.asarray(RGB), k=-1))


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(BadPicture, match="too many pixels"):
        decode(FILES["PNG"])


def test_an_empty_file_and_text_are_told_apart() -> None:
    with pytest.raises(BadPicture, match="an empty file"):
        decode(b"")
    with pytest.raises(BadPicture, match="not a picture"):
        decode(b"hello")
