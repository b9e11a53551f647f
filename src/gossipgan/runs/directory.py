"""A run's directory: the truth about one experiment at one seed.

::

    settings.yaml      resolved settings, seed, data digest, fingerprint
    journal.jsonl      what happened (see ``journal``)
    samples/           step-00000500.png, ...: grids from the same noise
    weights/           generator-<iterate>.safetensors and discriminator.safetensors, at the end; of several
                       learners these are the means of theirs, which lie beside them in learner-0000/, ...
    result.json        outcome, steps, images, fingerprint, seed, data, parameters, sha256 of each
                       weights file; of a run that lost learners also who, and at which step
    clock.jsonl        step, seconds of training so far, Unix time: what differs between executions
    environment.json   machine, versions, threads
    checkpoints/       the last two and the best, while training
    ahead.json         of a run that was made ahead of the pipeline: its scores (see ``ahead``)
    spectrum.json      and spectrum.png: eigenvalues where training ended, once somebody has asked for them
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from gossipgan.config import Settings, fingerprint, read_yaml
from gossipgan.errors import UserError
from gossipgan.runs.files import atomic, write_json


class RunDirectory:
    """Paths in a run directory, and its small files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = path / "settings.yaml"
        self.journal = path / "journal.jsonl"
        self.clock = path / "clock.jsonl"
        self.environment = path / "environment.json"
        self.samples = path / "samples"
        self.weights = path / "weights"
        self.result = path / "result.json"
        self.checkpoints = path / "checkpoints"
        self.ahead = path / "ahead.json"
        self.spectrum = path / "spectrum.json"
        self.spectrum_plot = path / "spectrum.png"

    def generator(self, iterate: str, learner: int | None = None) -> Path:
        """The file of G's weights of one iterate: the mean of all learners', or one learner's own."""
        return self._weights_of(learner) / f"generator-{iterate}.safetensors"

    def discriminator(self, learner: int | None = None) -> Path:
        """The file of D's weights: the mean of all learners', or one learner's own."""
        return self._weights_of(learner) / "discriminator.safetensors"

    def _weights_of(self, learner: int | None) -> Path:
        return self.weights if learner is None else self.weights / f"learner-{learner:04d}"

    def write_settings(self, settings: Settings, seed: int, data_digest: str, experiment: str) -> None:
        """Record what this run is."""
        content = {
            "experiment": experiment,
            "seed": seed,
            "data_digest": data_digest,
            "fingerprint": fingerprint(settings, seed, data_digest),
            # Where runs are shown has no say in what they are, and an address may hold a password.
            "settings": settings.model_dump(mode="json", exclude={"tracking"}),
        }
        with atomic(self.settings) as temporary:
            YAML(typ="safe", pure=True).dump(content, temporary)

    def read_settings(self) -> tuple[Settings, dict[str, Any]]:
        """Resolved settings, and the identity: experiment, seed, data_digest, fingerprint.

        Raises:
            UserError: the directory does not hold a run.
        """
        if not self.settings.exists():
            raise UserError(f"{self.path}: not a run directory: there is no settings.yaml in it")
        content = read_yaml(self.settings)
        return Settings.model_validate(content.pop("settings")), content

    def read_result(self) -> dict[str, Any]:
        """What the run came to.

        Raises:
            UserError: the run has not ended.
        """
        if not self.result.exists():
            raise UserError(f"{self.path}: this run has not ended: there is no result.json in it")
        content: dict[str, Any] = json.loads(self.result.read_text())
        return content

    def write_result(self, **content: Any) -> None:
        """Record what the run came to, with the hash of every weights file. The last act of a run."""
        files = sorted(self.weights.rglob("*.safetensors"))
        hashes = {str(file.relative_to(self.weights).with_suffix("")): sha256(file) for file in files}
        write_json(self.result, {**content, "weights": hashes})


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
