"""The dataset of a run, as MLflow shows it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.runs import Project

#: MLflow keeps 36 characters of a digest; the whole of it stands in the run's tag.
DIGEST_LENGTH = 36


class DatasetInfo(NamedTuple):
    """What was trained on.

    Attributes:
        name: the source, such as ``mnist-sample``.
        digest: digest of the prepared store, in hex.
        counts: pictures by split; empty where they are not known.
    """

    name: str
    digest: str
    counts: Mapping[str, int]

    @classmethod
    def of_run(cls, source: str, digest: str, root: Path) -> Self:
        """That of a run, counted where the project's prepared store is still the one that the run was trained on.

        Args:
            source, digest: as the run's settings have them.
            root: the folder of ``params.yaml``.
        """
        try:
            manifest = Store.open(Project(root).prepared, verify=False).manifest
        except UserError:
            return cls(source, digest, {})
        counts = {str(split): count for split, count in manifest.counts.items()}
        return cls(source, digest, counts if manifest.digest == digest else {})

    def as_input(self) -> Any:
        """An ``mlflow.entities.DatasetInput`` for ``log_inputs``, under our own digest."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        dataset = Dataset(
            name=self.name,
            digest=self.digest[:DIGEST_LENGTH],
            source_type="local",
            source=json.dumps({"uri": "data/prepared", "digest": self.digest}),
            profile=json.dumps(dict(self.counts)),
        )
        return DatasetInput(dataset, tags=[InputTag("mlflow.data.context", "training")])
