"""Where pictures come from, by the name in ``data.source``: a new source is a file here and a line below."""

from collections.abc import Callable

from gossipgan.config import DataSettings
from gossipgan.data.sources import cifar10, images, mnist, mnist_sample, npz, svhn
from gossipgan.data.sources.base import Source

SOURCES: dict[str, Callable[[DataSettings], Source]] = {
    "mnist-sample": mnist_sample.open_source,
    "mnist": mnist.open_source,
    "cifar10": cifar10.open_source,
    "svhn": svhn.open_source,
    "images": images.open_source,
    "npz": npz.open_source,
}


def open_source(settings: DataSettings) -> Source:
    """Open the source that the settings name.

    Raises:
        UserError: it is missing or damaged.
    """
    return SOURCES[settings.source](settings)
