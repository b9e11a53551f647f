"""Runs made ahead of the pipeline: several at a time, where DVC's stages come one after the other.

The stages take over what such a run came to, once, instead of training and scoring it themselves. That is sound only
where they would have got the same, so the code, the extractor and the finished run itself must be those it was made
with.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from gossipgan.runs.directory import RunDirectory, sha256
from gossipgan.runs.environment import code_digest
from gossipgan.runs.files import write_json

#: By metric name, and ``outcome``, as the evaluation of a finished run gives them.
Scores = Mapping[str, float | str]


def mark_ahead(run: RunDirectory, extractor: Path, scores: Scores) -> None:
    """Leave a finished run, and its scores, for the pipeline's stages to take over.

    Args:
        extractor: the folder of the extractor that scored it.
    """
    write_json(run.ahead, {"made_with": _made_with(run, extractor), "scores": dict(scores)})


def read_ahead(run: RunDirectory, extractor: Path) -> Scores | None:
    """Scores of a run that was left for the pipeline; None where there is none that its stages would make the same."""
    if not (run.ahead.exists() and run.result.exists()):
        return None
    content = json.loads(run.ahead.read_text())
    if content["made_with"] != _made_with(run, extractor):
        return None
    scores: Scores = content["scores"]
    return scores


def _made_with(run: RunDirectory, extractor: Path) -> dict[str, str]:
    files = sorted(file for file in extractor.iterdir() if file.is_file()) if extractor.is_dir() else []
    return {
        "code": code_digest(),
        "result": sha256(run.result),
        "extractor": " ".join(f"{file.name} {sha256(file)}" for file in files),
    }
