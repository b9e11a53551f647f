"""The dataset of a run, as MLflow shows it."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

#: MLflow keeps 36 characters of a digest; the whole of it stands in the run's tag.
DIGEST_LENGTH = 36


class DatasetInfo(NamedTuple):
    """What was trained on.

    Attributes:
        name: the source, such as ``mnist-sample``.
        digest: digest of the prepared store, in hex.
        counts: pictures by split.
    """

    name: str
    digest: str
    counts: Mapping[str, int]

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
