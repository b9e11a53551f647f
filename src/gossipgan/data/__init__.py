"""Sources of real pictures, and the prepared store that everything else reads."""

from gossipgan.data.check import check_prepared
from gossipgan.data.manifest import Manifest, Skipped, Split
from gossipgan.data.prepare import prepare
from gossipgan.data.shards import deal
from gossipgan.data.store import Store

__all__ = ["Manifest", "Skipped", "Split", "Store", "check_prepared", "deal", "prepare"]
