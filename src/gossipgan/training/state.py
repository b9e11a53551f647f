"""The state of a run in training: what a checkpoint holds, and what an interruption must not lose."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gossipgan.config import Settings
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.games import LOSSES
from gossipgan.runs import Journal, RunDirectory, code_digest, read_journal
from gossipgan.training.checkpoint import latest_checkpoint, load_checkpoint, prune_checkpoints, save_checkpoint
from gossipgan.training.learner import Learner

#: D's loss within this distance of its lower bound counts as being there.
_AT_BOUND = 1e-3


class TrainingState:
    """Everything of a run that must survive an interruption; made new, or from the last checkpoint.

    Attributes:
        step: iterations done.
        learners: all with their weights, moments and streams.
        sums: ``[loss of D, loss of G, mean D(x), mean D(G(z))]`` added up since the last entry, on the device.
        scores: the last scores, by metric name.
        best_step: the iteration of the best primary score so far, or None.
    """

    def __init__(
        self,
        run: RunDirectory,
        settings: Settings,
        seed: int,
        store: Store,
        identity: str,
        device: torch.device,
    ) -> None:
        self._run = run
        self._settings = settings
        self._identity = identity
        pictures = torch.from_numpy(np.array(store.images("train"))).to(device)
        labels = torch.from_numpy(np.array(store.labels("train"))).to(device) if settings.game.classes else None
        self.learners = [
            Learner(number, settings, seed, pictures, labels, device) for number in range(settings.mixing.learners)
        ]
        self.sums = torch.zeros(4, device=device)
        self.step = 0
        self.scores: dict[str, float] = {}
        self.best_step: int | None = None
        self._best_score = math.inf
        self._logged_step = 0
        self._steps_at_bound = 0
        journal_length = clock_length = 0

        path = latest_checkpoint(run.checkpoints)
        if path is not None:
            tensors, numbers = load_checkpoint(path)
            _check_checkpoint(path, numbers, identity)
            for index, learner in enumerate(self.learners):
                prefix = f"learner.{index}."
                mine = {key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)}
                learner.load(mine, numbers["learners"][index])
            self.sums.copy_(tensors["sums"])
            self.step = numbers["step"]
            self.scores = numbers["scores"]
            self.best_step = numbers["best_step"]
            self._best_score = numbers["best_score"] if self.best_step is not None else math.inf
            self._logged_step = numbers["logged_step"]
            self._steps_at_bound = numbers["steps_at_bound"]
            journal_length, clock_length = numbers["journal_length"], numbers["clock_length"]

        self.journal = Journal(run.journal, journal_length)
        self._clock = Journal(run.clock, clock_length)
        before = [entry["seconds"] for entry in read_journal(run.clock)]
        self._began = time.monotonic() - (before[-1] if before else 0.0)

    @property
    def images(self) -> int:
        """Real pictures seen by all learners."""
        per_step = self._settings.optimizer.batches * self._settings.training.batch * len(self.learners)
        return self.step * per_step

    def log_losses(self) -> dict[str, float]:
        """Write the means since the last entry to the journal, and the time to the clock. Waits for the device."""
        since = self.step - self._logged_step
        means = [total / (since * len(self.learners)) for total in self.sums.tolist()]
        losses = dict(zip(("loss_d", "loss_g", "d_real", "d_fake"), means, strict=True))
        self.journal.append("losses", self.step, images=self.images, **losses)
        self._clock.append("clock", self.step, seconds=time.monotonic() - self._began, time=time.time())
        self.sums.zero_()
        bound = LOSSES[self._settings.game.loss].lower_bound
        at_bound = bound is not None and losses["loss_d"] - bound < _AT_BOUND
        self._steps_at_bound = self._steps_at_bound + since if at_bound else 0
        self._logged_step = self.step
        return losses

    def divergence(self, losses: dict[str, float]) -> str | None:
        """Why the run has diverged, or None."""
        for name, value in losses.items():
            if not math.isfinite(value):
                return f"{name} is {value} at step {self.step}"
        if self._steps_at_bound >= self._settings.training.divergence_window:
            return f"D's loss was at its lower bound for {self._steps_at_bound} iterations up to step {self.step}"
        return None

    def log_scores(self, scores: dict[str, float], primary: str) -> None:
        """Write scores to the journal, and remember the step if it is the best so far (lowest)."""
        self.scores = scores
        self.journal.append("score", self.step, images=self.images, **scores)
        if scores[primary] < self._best_score:
            self._best_score, self.best_step = scores[primary], self.step

    def checkpoint(self) -> None:
        """Save everything. The journal reaches the disk first: a checkpoint never knows more than it."""
        tensors = {"sums": self.sums}
        for index, learner in enumerate(self.learners):
            tensors |= {f"learner.{index}.{name}": tensor for name, tensor in learner.tensors().items()}
        numbers = {
            "step": self.step,
            "fingerprint": self._identity,
            "code": code_digest(),
            "scores": self.scores,
            "best_step": self.best_step,
            "best_score": self._best_score if self.best_step is not None else None,
            "logged_step": self._logged_step,
            "steps_at_bound": self._steps_at_bound,
            "journal_length": self.journal.sync(),
            "clock_length": self._clock.sync(),
            "learners": [learner.numbers() for learner in self.learners],
        }
        save_checkpoint(self._run.checkpoints, self.step, tensors, numbers)
        prune_checkpoints(self._run.checkpoints, self.best_step)

    def close(self) -> None:
        """Flush and close the journal and the clock."""
        for journal in (self.journal, self._clock):
            journal.sync()
            journal.close()


def _check_checkpoint(path: Path, numbers: dict[str, Any], identity: str) -> None:
    if numbers["fingerprint"] != identity:
        raise UserError(
            f"{path}: a checkpoint of another run (fingerprint {numbers['fingerprint'][:12]}, this one is "
            f"{identity[:12]}); give another --out, or --overwrite to start over"
        )
    if numbers["code"] != code_digest():
        raise UserError(f"{path}: made by another version of gossipgan's code; finish with that, or --overwrite")
