import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torchvision.datasets.mnist import read_image_file

from gossipgan.data.sources.idx import read_idx
from gossipgan.errors import UserError

# Two pictures of 2 x 3 pixels, written by hand from the format's description.
BYTES = bytes.fromhex("00000803 00000002 00000002 00000003") + bytes(range(12))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_bytes_written_by_hand_are_read(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"idx{suffix}"
    file.write_bytes(gzip.compress(BYTES) if suffix else BYTES)
    assert read_idx(file, axes=3).tolist() == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]


def test_torchvision_reads_the_same(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
    file = tmp_path / "idx"
    file.write_bytes(struct.pack(">BBBBIII", 0, 0, 8, 3, *pixels.shape) + pixels.tobytes())
    assert np.array_equal(read_idx(file, axes=3), read_image_file(str(file)).numpy())
    assert np.array_equal(read_idx(file, axes=3), pixels)


@given(keep=st.integers(0, len(BYTES) - 1), zipped=st.booleans())
def test_every_cut_is_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, keep: int, zipped: bool) -> None:
    file = tmp_path_factory.mktemp("cut") / ("idx.gz" if zipped else "idx")
    file.write_bytes(gzip.compress(BYTES)[: keep + 10] if zipped else BYTES[:keep])
    with pytest.raises(UserError, match="idx") as error:
        read_idx(file, axes=3)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<html>not found</html>", "not gzip"),
        (gzip.compress(BYTES + b"x"), "too long"),
        (gzip.compress(b"\0\0\x0d" + BYTES[3:]), "not an idx file"),
        (gzip.compress(b"\0\0\x08\x03" + b"\xff" * 12), "truncated"),
        (gzip.compress(BYTES)[:-8] + b"\0" * 8, "damaged"),
        (b"", "truncated|starts with nothing"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "idx.gz"
    file.write_bytes(content)
    with pytest.raises(UserError, match=says):
        read_idx(file, axes=3)


def test_labels_in_place_of_pictures_are_refused(tmp_path: Path) -> None:
    (tmp_path / "idx").write_bytes(bytes.fromhex("00000801 00000002 0102"))
    assert read_idx(tmp_path / "idx", axes=1).tolist() == [1, 2]
    with pytest.raises(UserError, match="3 axes"):
        read_idx(tmp_path / "idx", axes=3)
