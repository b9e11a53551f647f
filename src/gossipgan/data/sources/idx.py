"""The idx format of MNIST's files.

Two zero bytes, a type code (8: unsigned byte), the number of axes, each axis' length as a big-endian 32-bit
integer, then the values in row-major order. Source: Y. LeCun, "The MNIST database", file formats.
"""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from gossipgan.errors import UserError

_UNSIGNED_BYTE = 8

#: Bytes read at once.
_PIECE = 1 << 20


def read_idx(path: Path, axes: int) -> npt.NDArray[np.uint8]:
    """Read an idx file of unsigned bytes, gzipped where its name ends in ``.gz``.

    Args:
        axes: how many axes the array must have.

    Raises:
        UserError: the file cannot be read, is damaged, or is something else.
    """
    try:
        with cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as file:
            return _parse(file, path, axes)
    except (gzip.BadGzipFile, zlib.error):
        raise UserError(f"{path}: damaged, or not gzip; fetch the file again") from None
    except EOFError:
        raise UserError(f"{path}: truncated: the gzip stream ends early; fetch the file again") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _parse(file: BinaryIO, path: Path, axes: int) -> npt.NDArray[np.uint8]:
    head = file.read(4)
    if head != bytes([0, 0, _UNSIGNED_BYTE, axes]):
        raise UserError(
            f"{path}: not an idx file of unsigned bytes with {axes} axes: it starts with {head.hex(' ') or 'nothing'}"
        )
    lengths = file.read(4 * axes)
    if len(lengths) < 4 * axes:
        raise UserError(f"{path}: truncated in its header; fetch the file again")
    shape = struct.unpack(f">{axes}I", lengths)
    # One byte more than is due, so that a longer file shows and gzip checks its checksum at the end.
    wanted = math.prod(shape)
    values = _read_at_most(file, wanted + 1)
    if len(values) != wanted:
        state = "truncated" if len(values) < wanted else "too long"
        raise UserError(f"{path}: {state}: its header says {' x '.join(map(str, shape))} bytes; fetch the file again")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def _read_at_most(file: BinaryIO, wanted: int) -> bytearray:
    """In pieces, so that a damaged header that promises terabytes does not ask for their memory."""
    values = bytearray()
    while piece := file.read(min(wanted - len(values), _PIECE)):
        values += piece
    return values
