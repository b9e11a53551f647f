"""A graph or a matrix of one's own, from a file.

A file of two whole numbers a line is a list of edges, ``i j``, undirected. Everything else is a weight matrix: numbers
or fractions such as 1/3, a row a line, with commas or blanks between; or a .npy file. ``#`` begins a comment.
"""

import math
import re
from pathlib import Path
from tokenize import TokenError

import numpy as np
from numpy.typing import NDArray

from gossipgan.errors import UserError
from gossipgan.mixing.graph import Graph
from gossipgan.mixing.schedule import Periodic, Schedule
from gossipgan.mixing.topologies.request import Request

#: A line number, from 1, and the words on that line.
_Lines = list[tuple[int, list[str]]]

_WHOLE = re.compile(r"[0-9]{1,9}")


def custom(request: Request) -> Schedule:
    """The file's edges with computed weights, or the file's weights."""
    path = request.file
    if path is None:
        raise request.mistake("needs a file of edges or weights")
    content = _read(path)
    if isinstance(content, np.ndarray):
        if request.weights not in ("auto", "given"):
            raise UserError(f"{path}: has weights of its own; use weights given, not {request.weights}")
        if content.ndim == 2 and content.shape[0] == content.shape[1] != request.learners:
            raise UserError(
                f"{path}: is a matrix of {content.shape[0]} learners, but {request.learners} were asked for"
            )
        return Periodic(request.topology, "given", [content], where=str(path))
    if request.weights == "given":
        raise UserError(f"{path}: is a list of edges, without weights; use weights metropolis")
    request.afford(len(content))
    edges = []
    for number, words in content:
        i, j = map(int, words)
        if max(i, j) >= request.learners:
            raise UserError(
                f"{path}: line {number}: learner {max(i, j)}, but learners are numbered 0 to {request.learners - 1}"
            )
        if i == j:
            raise UserError(f"{path}: line {number}: learner {i} is no neighbour of its own; leave the line out")
        edges.append((i, j))
    return request.schedule([Graph.undirected(request.learners, edges)])


def learners_in(path: Path) -> int:
    """How many learners a file is about: a matrix's rows, or the largest number in a list of edges and one more."""
    content = _read(path)
    if isinstance(content, np.ndarray):
        return content.shape[0] if content.ndim else 1
    return 1 + max(int(word) for _, words in content for word in words)


def _read(path: Path) -> NDArray[np.float64] | _Lines:
    if path.suffix == ".npy":
        return _read_npy(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not text; a matrix of numpy's ends in .npy") from None
    lines: _Lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if words:
            lines.append((number, words))
    if not lines:
        raise UserError(f"{path}: is empty; give a line `i j` an edge, or a row of weights a line")
    # No mixing matrix of two learners is made of whole numbers: they would never hear from each other, or only swap.
    if all(len(words) == 2 and all(map(_WHOLE.fullmatch, words)) for _, words in lines):
        return lines
    return _matrix(path, lines)


def _matrix(path: Path, lines: _Lines) -> NDArray[np.float64]:
    width = len(lines[0][1])
    rows = []
    for row, (number, words) in enumerate(lines):
        if len(words) != width:
            raise UserError(f"{path}: line {number}: row {row} has {len(words)} numbers, row 0 has {width}")
        rows.append([_number(word, f"{path}: line {number}") for word in words])
    return np.array(rows)


def _number(word: str, where: str) -> float:
    numerator, slash, denominator = word.partition("/")
    try:
        value = float(numerator) / float(denominator) if slash else float(word)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{where}: {word!r} is not a number; write weights like 0.25 or 1/3")
    return value


def _read_npy(path: Path) -> NDArray[np.float64]:
    try:
        # Mapped, so that a file that claims to be larger than it is fails before memory is taken for it.
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    # A torn header is parsed as Python's literals are, and fails as they do.
    except (ValueError, EOFError, OverflowError, SyntaxError, TokenError):
        raise UserError(f"{path}: is not an array of numbers in numpy's format") from None
    if array.dtype.kind not in "fiu":
        raise UserError(f"{path}: holds {array.dtype}; weights are floats")
    return np.array(array, dtype=np.float64)
