"""From a live run directory to what DVC keeps: all that two executions of the run agree on, to the last byte."""

import csv
import io
import shutil

from gossipgan.runs.directory import RunDirectory
from gossipgan.runs.files import write_atomic
from gossipgan.runs.journal import read_journal

_LOSSES = ("step", "images", "loss_d", "loss_g", "d_real", "d_fake")


def publish(live: RunDirectory, published: RunDirectory) -> None:
    """Copy a finished run's settings, journal, samples, weights and result, in place of an older one's.

    Adds ``losses.csv``, the journal's losses as ``dvc plots`` reads them. The result goes last: where it is, the
    rest is complete.
    """
    if published.path.exists():
        shutil.rmtree(published.path)
    published.path.mkdir(parents=True)
    shutil.copy2(live.settings, published.settings)
    shutil.copy2(live.journal, published.journal)
    shutil.copytree(live.samples, published.samples) if live.samples.exists() else published.samples.mkdir()
    shutil.copytree(live.weights, published.weights)
    table = io.StringIO()
    writer = csv.DictWriter(table, _LOSSES, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(entry for entry in read_journal(live.journal) if entry["event"] == "losses")
    write_atomic(published.path / "losses.csv", table.getvalue())
    shutil.copy2(live.result, published.result)
