"""From a source to a prepared store: draw the split, fit every picture, write, hash, put in place."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gossipgan.config import DataSettings
from gossipgan.data.fit import fit
from gossipgan.data.manifest import (
    MANIFEST,
    SPLITS,
    Manifest,
    Skipped,
    Split,
    content_digest,
    file_digest,
    images_file,
    labels_file,
)
from gossipgan.data.sources import open_source
from gossipgan.data.sources.base import BadPicture, Source
from gossipgan.data.split import draw_split
from gossipgan.errors import UserError


def prepare(settings: DataSettings, out: Path) -> Manifest:
    """Write the prepared store of a source, whole or not at all.

    The same pictures and settings give the same bytes. Pictures go one by one into memory-mapped files, so
    that memory does not grow with their number. A store that was at ``out`` is replaced once the new
    one is complete and on the disk.

    Returns:
        The manifest of the new store.

    Raises:
        UserError: bad input, in one line; ``out`` is then as it was.
    """
    out = out.resolve()
    _refuse_to_replace_others(out)
    with open_source(settings) as source, _new_directory(out) as folder:
        draw = draw_split(
            len(source),
            source.own_test,
            held_out=settings.held_out,
            limit=settings.limit,
            seed=settings.split_seed,
        )
        skipped: list[Skipped] = []
        held_out = iter(draw.held_out.tolist())
        train = iter(draw.train.tolist())
        counts: dict[Split, int] = {}
        if draw.kind == "drawn":
            # One stream: what replaces an unreadable held-out picture is not trained on.
            held_out = train = iter([*held_out, *train])
        takes: dict[Split, tuple[Iterator[int], int]] = {
            "held_out": (held_out, draw.held_out_count),
            "train": (train, draw.train_count),
        }
        for split, (candidates, wanted) in takes.items():
            counts[split] = _write_split(source, candidates, wanted, split, folder, settings, skipped)
        _check_counts(counts, settings, len(skipped))
        manifest = _describe(source, settings, draw.kind, counts, skipped, folder)
        (folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


def _write_split(
    source: Source,
    candidates: Iterator[int],
    wanted: int,
    split: Split,
    folder: Path,
    settings: DataSettings,
    skipped: list[Skipped],
) -> int:
    """Fill a split's files with the first ``wanted`` candidates that can be read; return their number."""
    file = folder / images_file(split)
    shape = (wanted, settings.channels, settings.size, settings.size)
    images = np.lib.format.open_memmap(file, mode="w+", dtype=np.uint8, shape=shape)
    _reserve(file)
    taken: list[int] = []
    while len(taken) < wanted:
        index = next(candidates, None)
        if index is None:
            break
        try:
            picture = source.read(index)
        except BadPicture as bad:
            if not settings.skip_bad:
                raise UserError(
                    f"{source.where(index)}: {bad}; mend or remove it, or set data.skip_bad: true to leave it out"
                ) from None
            skipped.append(Skipped(name=source.name(index), reason=str(bad)))
            continue
        if picture.size != (settings.size, settings.size) and not settings.resize:
            raise UserError(
                f"{source.where(index)}: {picture.width} x {picture.height} pixels, but data.size is "
                f"{settings.size} x {settings.size}; set data.resize: true to scale and crop, "
                "or change data.size"
            )
        images[len(taken)] = fit(picture, settings.size, settings.channels)
        taken.append(index)
    images.flush()
    if len(taken) < wanted:
        shorter = folder / f"{split}.shorter.npy"
        np.save(shorter, images[: len(taken)])
        shorter.replace(file)
    if source.labels is not None:
        np.save(folder / labels_file(split), source.labels[taken].astype(np.int64))
    return len(taken)


def _reserve(file: Path) -> None:
    """Claim the file's blocks now: a full disk is then an error here, not a signal at a write to the map."""
    if hasattr(os, "posix_fallocate"):
        with file.open("r+b") as opened:
            os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)


def _check_counts(counts: dict[Split, int], settings: DataSettings, skipped: int) -> None:
    """Too few pictures may be left once unreadable ones are out."""
    wanted = settings.held_out or 1
    if counts["held_out"] < wanted or counts["train"] < 1:
        raise UserError(
            f"data: too few pictures: {skipped} could not be read and were skipped, which leaves "
            f"{counts['train']} to train on and {counts['held_out']} held out; "
            f"at least 1 and {wanted} are wanted"
        )


def _describe(
    source: Source,
    settings: DataSettings,
    kind: str,
    counts: dict[Split, int],
    skipped: list[Skipped],
    folder: Path,
) -> Manifest:
    files = {file.name: file_digest(file) for file in sorted(folder.iterdir())}
    ordered = {split: counts[split] for split in SPLITS}
    shape = (settings.channels, settings.size, settings.size)
    return Manifest.model_validate(
        {
            "source": settings.source,
            "split": kind,
            "split_seed": settings.split_seed,
            "counts": ordered,
            "shape": shape,
            "classes": source.classes,
            "skipped": tuple(sorted(skipped, key=lambda entry: entry.name)),
            "files": files,
            "digest": content_digest(files, ordered, shape, source.classes),
        }
    )


def _refuse_to_replace_others(out: Path) -> None:
    """Replacing removes what was there: only ever a store, or nothing."""
    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"{out}: a file; the prepared store is a folder, name another one")
    ours = {MANIFEST, *(name(split) for split in SPLITS for name in (images_file, labels_file))}
    for entry in sorted(out.iterdir()):
        if entry.name not in ours:
            raise UserError(
                f"{out}: not a prepared store, there is {entry.name} in it; it is left as it is, name another folder"
            )


@contextmanager
def _new_directory(out: Path) -> Iterator[Path]:
    """A temporary sibling folder that takes the place of ``out`` when the block ends without an error."""
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    old = out.with_name(f".{out.name}.{os.getpid()}.old")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        for file in temporary.iterdir():
            _sync(file)
        _sync(temporary)
        if out.exists():
            out.replace(old)
        try:
            temporary.replace(out)
        except OSError:
            if old.exists():
                old.replace(out)
            raise
        _sync(out.parent)
    except OSError as error:
        raise UserError(f"{out}: the store cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
