"""The state of a run in training: what a checkpoint holds, and what an interruption must not lose."""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gossipgan.config import Settings
from gossipgan.data import Store, deal
from gossipgan.errors import UserError
from gossipgan.games import LOSSES
from gossipgan.mixing.arithmetic import consensus_distance
from gossipgan.mixing.build import build_mixing
from gossipgan.mixing.group import Group
from gossipgan.optimizers import FlatPlayer
from gossipgan.runs import Journal, RunDirectory, code_digest, read_journal
from gossipgan.training.checkpoint import (
    begin_checkpoint,
    finish_checkpoint,
    latest_checkpoint,
    prune_checkpoints,
    read_learner,
    read_run,
    temporary_checkpoint,
    write_learner,
)
from gossipgan.training.learner import Learner

#: D's loss within this distance of its lower bound counts as being there.
_AT_BOUND = 1e-3


class TrainingState:
    """Everything of a run that must survive an interruption; made new, or from the last checkpoint.

    All processes of a run have one, with their own learners. The main process's alone keeps the journal, the scores
    and the divergence; the others follow it.

    Attributes:
        group: the learners, and the processes that host them.
        learners: those of this process, by number, with their weights, moments and streams.
        mixing: what they exchange.
        step: iterations done.
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
        group: Group,
        device: torch.device,
    ) -> None:
        self._run = run
        self._settings = settings
        self._identity = identity
        self._device = device
        self.group = group
        self.learners = _build_learners(settings, seed, store, group, device)
        self.mixing = build_mixing(settings, group, next(iter(self.learners.values())).mixed())
        self.step = 0
        self.scores: dict[str, float] = {}
        self.best_step: int | None = None
        self._best_score = math.inf
        self._logged_step = 0
        self._steps_at_bound = 0
        self._bytes_before = 0
        journal_length = clock_length = 0

        path = latest_checkpoint(run.checkpoints)
        if path is not None:
            numbers = read_run(path)
            _check_checkpoint(path, numbers, identity)
            self._load_learners(path)
            self.step = numbers["step"]
            self.scores = numbers["scores"]
            self.best_step = numbers["best_step"]
            self._best_score = numbers["best_score"] if self.best_step is not None else math.inf
            self._logged_step = numbers["logged_step"]
            self._steps_at_bound = numbers["steps_at_bound"]
            self._bytes_before = numbers["bytes"]
            journal_length, clock_length = numbers["journal_length"], numbers["clock_length"]
        group.barrier()  # nobody writes before all have read

        if group.main:
            self.journal = Journal(run.journal, journal_length)
            self._clock = Journal(run.clock, clock_length)
            before = [entry["seconds"] for entry in read_journal(run.clock)]
            self._began = time.monotonic() - (before[-1] if before else 0.0)

    @property
    def images(self) -> int:
        """Real pictures seen by all learners."""
        settings = self._settings
        return self.step * settings.optimizer.batches * settings.training.batch * self.group.learners

    def log_losses(self) -> dict[str, float]:
        """Write the means since the last entry to the journal, and the time to the clock. Waits for the device.

        All processes; the losses come out on the main one alone.
        """
        since = self.step - self._logged_step
        everybody = [sums.tolist() for sums in self.group.gather([one.sums for one in self.learners.values()])]
        for learner in self.learners.values():
            learner.sums.zero_()
        self._logged_step = self.step
        if not self.group.main:
            return {}
        totals = [sum(column) for column in zip(*everybody, strict=True)]
        means = [total / (since * len(everybody)) for total in totals]
        losses = dict(zip(("loss_d", "loss_g", "d_real", "d_fake"), means, strict=True))
        self.journal.append("losses", self.step, images=self.images, **losses)
        waited = {"waited": self.group.waited} if self.group.learners > 1 else {}
        self._clock.append("clock", self.step, seconds=time.monotonic() - self._began, time=time.time(), **waited)
        bound = LOSSES[self._settings.game.loss].lower_bound
        at_bound = bound is not None and losses["loss_d"] - bound < _AT_BOUND
        self._steps_at_bound = self._steps_at_bound + since if at_bound else 0
        return losses

    def exchange_gradients(self, taken: Sequence[Sequence[FlatPlayer]]) -> None:
        """Let the mixing see the gradients that all local learners have just taken, for the same players."""
        gradients = {
            number: [player.gradient for player in players]
            for number, players in zip(self.learners, taken, strict=True)
        }
        self.mixing.gradients(gradients)

    def exchange_weights(self) -> None:
        """Let the mixing see what the players are made of."""
        mine = {number: learner.mixed() for number, learner in self.learners.items()}
        players = next(iter(mine.values()))
        self.mixing.weights(
            self.step, {player: {number: parts[player] for number, parts in mine.items()} for player in players}
        )

    def consensus(self) -> dict[str, float]:
        """How far the learners' weights are from their mean, by player: root mean square of Euclidean distances.

        All processes; the distances come out on the main one alone.
        """
        distances = {}
        for index, name in enumerate(("generator", "discriminator")):
            vectors = self.group.gather([learner.players[index].vector.data for learner in self.learners.values()])
            if vectors:
                distances[name] = consensus_distance(vectors)
        return distances

    def log_mixing(self, before: dict[str, float], after: dict[str, float]) -> None:
        """Write what a mix did, and the bytes sent so far, to the journal. All processes."""
        sent = self._bytes()
        if self.group.main:
            entry = {f"consensus_{name}": distance for name, distance in after.items()}
            for name, distance in before.items():
                # Without a distance there is nothing to contract.
                entry[f"contraction_{name}"] = after[name] / distance if distance else 0.0
            self.journal.append("mixing", self.step, images=self.images, bytes=sent, **entry)

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
        """Save everything. The journal reaches the disk first: a checkpoint never knows more than it. All processes."""
        folder = self._run.checkpoints
        if self.group.main:
            begin_checkpoint(folder, self.step)
        self.group.barrier()
        temporary = temporary_checkpoint(folder, self.step)
        exchanged, sent = self.mixing.tensors(), self._bytes()
        for number, learner in self.learners.items():
            mixing = {f"mixing.{name}": tensor for name, tensor in exchanged.get(number, {}).items()}
            write_learner(temporary, number, {**learner.tensors(), **mixing}, learner.numbers())
        self.group.barrier()
        if self.group.main:
            finish_checkpoint(temporary, self._numbers(sent))
            prune_checkpoints(folder, self.best_step)

    def close(self) -> None:
        """Flush and close the journal and the clock."""
        for journal in (self.journal, self._clock):
            journal.sync()
            journal.close()

    def _bytes(self) -> int:
        """Bytes sent by all learners since the run began. All processes; right on the main one alone."""
        sent = torch.tensor([self.mixing.bytes], dtype=torch.float64, device=self._device)
        self.group.sum(sent)
        return self._bytes_before + int(sent)

    def _numbers(self, sent: int) -> dict[str, Any]:
        return {
            "bytes": sent,
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
        }

    def _load_learners(self, path: Path) -> None:
        exchanged: dict[int, Mapping[str, Tensor]] = {}
        for number, learner in self.learners.items():
            tensors, numbers = read_learner(path, number)
            learner.load(tensors, numbers)
            prefix = "mixing."
            exchanged[number] = {
                name.removeprefix(prefix): tensor.to(learner.device)
                for name, tensor in tensors.items()
                if name.startswith(prefix)
            }
        self.mixing.load(exchanged)


def _build_learners(
    settings: Settings, seed: int, store: Store, group: Group, device: torch.device
) -> dict[int, Learner]:
    pictures = store.images("train")
    labels = store.labels("train") if store.manifest.has_labels else None
    shards = deal(settings.mixing.shards, len(pictures), labels, group.learners, seed, settings.mixing.dirichlet)
    learners = {}
    for number in group.local:
        shard = shards[number]
        mine = torch.from_numpy(np.array(pictures[shard])).to(device)
        classes = (
            torch.from_numpy(np.array(labels[shard])).to(device)
            if settings.game.classes and labels is not None
            else None
        )
        learners[number] = Learner(number, settings, seed, mine, classes, device)
    return learners


def _check_checkpoint(path: Path, numbers: dict[str, Any], identity: str) -> None:
    if numbers["fingerprint"] != identity:
        raise UserError(
            f"{path}: a checkpoint of another run (fingerprint {numbers['fingerprint'][:12]}, this one is "
            f"{identity[:12]}); give another --out, or --overwrite to start over"
        )
    if numbers["code"] != code_digest():
        raise UserError(f"{path}: made by another version of gossipgan's code; finish with that, or --overwrite")
