"""The journal: what happened in a run, in order, one JSON object a line.

It holds nothing that differs between two executions of one run (no time, no host), so that
two journals of one fingerprint are equal to the last byte. Times stand in the clock file beside it.

Entries, by ``event``:

=========  ==========================================================================================
losses     ``step``, ``images``, and means since the entry before: ``loss_d``, ``loss_g``,
           ``d_real``, ``d_fake`` (D's mean output on real and on generated pictures)
score      ``step``, ``images``, and scores by metric name, such as ``fid_digits_2000_ema``
mixing     of several learners: ``step``, ``images``, ``bytes`` sent by all so far, ``consensus_generator``
           and ``consensus_discriminator`` (distance from their mean, after the mix), and
           ``contraction_generator`` and ``contraction_discriminator`` (after it over before it)
samples    ``step``, ``file`` (relative to the run directory)
lost       ``step`` that the others go on from, the ``learners`` that are gone, and the ``rank`` of their process
end        ``step``, ``images``, ``outcome`` (``ok`` or ``diverged``), ``reason`` (text or null)
=========  ==========================================================================================

``step`` counts iterations done (updates of G); ``images`` counts real pictures seen by all learners, those that were
lost since included.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gossipgan.errors import UserError

Entry = dict[str, Any]

#: JSON has no numbers that are not finite: they are written as these words.
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Journal:
    """An append-only file of JSON lines.

    Opening it at a ``length`` cuts off whatever was written after the checkpoint that recorded that
    length, a torn last line included.
    """

    def __init__(self, path: Path, length: int = 0) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        size = path.stat().st_size if path.exists() else 0
        if size < length:
            raise UserError(
                f"{path}: {size} bytes, but its checkpoint was taken at {length}; the journal was cut or replaced"
            )
        self.path = path
        self._file = path.open("ab")
        self._file.truncate(length)
        self._file.seek(length)

    def append(self, event: str, step: int, **values: Any) -> None:
        """Add an entry. It is in the file, though perhaps not yet on the disk, when this returns."""
        entry = {"event": event, "step": step, **values}
        self._file.write(json.dumps(_to_words(entry), separators=(",", ":"), allow_nan=False).encode() + b"\n")
        self._file.flush()

    def sync(self) -> int:
        """Flush to the disk and return the length in bytes, for a checkpoint to record."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


def read_journal(path: Path) -> Iterator[Entry]:
    """Entries of a journal, or of a clock file, in order; a torn last line is left out.

    Raises:
        UserError: a line that is not JSON stands before the last.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                entry = json.loads(line)
            except ValueError:
                raise UserError(f"{path}:{number}: not a line of JSON; the file was damaged") from None
            yield {key: _from_word(value) for key, value in entry.items()}


class JournalReader:
    """Reads a journal, or a clock file, that is being written: each time what is new in it.

    A file that was cut since, or replaced, is read from its beginning. It need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end = 0
        self._last = b""

    def read(self) -> tuple[list[Entry], bool]:
        """Entries since the reading before, and whether they are the first of the file.

        Raises:
            UserError: as ``read_journal`` does.
        """
        try:
            with self._path.open("rb") as file:
                file.seek(self._end - len(self._last))
                anew = self._end == 0 or file.read(len(self._last)) != self._last
                if anew:
                    self._end, self._last = file.seek(0), b""
                lines = file.readlines()
        except FileNotFoundError:
            self._end, self._last = 0, b""
            return [], True
        if lines and not lines[-1].endswith(b"\n"):
            del lines[-1]
        entries = []
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                raise UserError(f"{self._path}: byte {self._end}: not a line of JSON; the file was damaged") from None
            entries.append({key: _from_word(value) for key, value in entry.items()})
            self._end += len(line)
            self._last = line
        return entries, anew


def _to_words(entry: Mapping[str, Any]) -> Entry:
    return {
        key: str(float(value)) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in entry.items()
    }


def _from_word(value: Any) -> Any:
    return _WORDS.get(value, value) if isinstance(value, str) else value
