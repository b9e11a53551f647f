"""The sweeps of a storage, opened for a command that looks at them."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossipgan.sweeps import StudyStorage, SweepView


def url_of(storage: str | None, params: Path) -> str:
    """The storage that was asked for, or the project's own."""
    from gossipgan.sweeps import default_url

    return storage or default_url(params.parent)


def open_storage(storage: str | None, params: Path) -> "StudyStorage":
    """A storage that is there already."""
    import optuna

    from gossipgan.sweeps import StudyStorage

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return StudyStorage(url_of(storage, params), create=False)


def look_at(name: str, storage: str | None, params: Path) -> "SweepView":
    """What a sweep looks like now."""
    from gossipgan.sweeps import view

    with closing(open_storage(storage, params)) as opened:
        return view(opened, name, params.parent.resolve() / "work" / "sweeps")
