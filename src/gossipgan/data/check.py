"""Whether a prepared store is the one that the settings ask for."""

from gossipgan.config import DataSettings
from gossipgan.data.store import Store
from gossipgan.errors import UserError


def check_prepared(store: Store, settings: DataSettings) -> None:
    """Refuse a store of another source or shape than the settings'.

    Raises:
        UserError: naming the first difference.
    """
    shape = (settings.channels, settings.size, settings.size)
    for key, held, wanted in (
        ("source", store.manifest.source, settings.source),
        ("shape", tuple(store.manifest.shape), shape),
    ):
        if held != wanted:
            raise UserError(
                f"{store.path}: prepared with {key} {held}, but data asks for {wanted}; run gossipgan prepare"
            )
