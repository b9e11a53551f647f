"""The state of a run in training: what a checkpoint holds, and what an interruption must not lose."""

import copy
import json
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gossipgan.config import Settings
from gossipgan.data import Store, deal
from gossipgan.errors import UserError
from gossipgan.games import LOSSES
from gossipgan.mixing.arithmetic import consensus_distance
from gossipgan.mixing.build import build_mixing
from gossipgan.mixing.elastic import Elastic
from gossipgan.mixing.group import Group
from gossipgan.optimizers import FlatPlayer
from gossipgan.runs import Journal, RunDirectory, code_digest, read_journal
from gossipgan.training.checkpoint import (
    LearnerState,
    begin_checkpoint,
    finish_checkpoint,
    latest_checkpoint,
    prune_checkpoints,
    read_learner,
    read_run,
    remove_checkpoints_after,
    temporary_checkpoint,
    write_learner,
)
from gossipgan.training.learner import Learner

#: D's loss within this distance of its lower bound counts as being there.
_AT_BOUND = 1e-3

#: Before the names of the mixing's tensors, among a learner's.
_MIXING = "mixing."


#: What a checkpoint taken before the first iteration would know of the run.
_NOTHING_DONE: dict[str, Any] = {
    "step": 0,
    "images": 0,
    "bytes": 0,
    "scores": {},
    "best_step": None,
    "best_score": None,
    "logged_step": 0,
    "steps_at_bound": 0,
    "lost": [],
    "journal_length": 0,
    "clock_length": 0,
}


class Point(NamedTuple):
    """A state in memory that survivors can go back to: what a checkpoint of that moment would hold.

    Attributes:
        run: what belongs to the run.
        learners: this process's, by their own numbers.
    """

    run: dict[str, Any]
    learners: dict[int, LearnerState]


class TrainingState:
    """Everything of a run that must survive an interruption; made new, or from the last checkpoint.

    All processes of a run have one, with their own learners. The main process's alone keeps the journal, the scores
    and the divergence; the others follow it.

    A learner has a number of its own, which its streams, its shard and its files go by, and a place among those that
    are there, which the group and the mixing go by. They are the same until somebody is lost.

    Attributes:
        group: the learners, and the processes that host them.
        numbers: the learners' own, of all that are there, by place.
        learners: those of this process, by place, with their weights, moments and streams.
        mixing: what they exchange.
        step: iterations done.
        scores: the last scores, by metric name.
        best_step: the iteration of the best primary score so far, or None.
        lost: processes that were lost, in order: their ``learners``, ``rank``, and the ``step`` that the others went
            on from.
    """

    step: int
    scores: dict[str, float]
    best_step: int | None
    _best_score: float
    _logged_step: int
    _steps_at_bound: int
    _bytes_before: int
    _images_before: int
    _step_before: int

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
        self._seed = seed
        self._store = store
        self._identity = identity
        self._device = device
        self.group = group
        self.lost: list[dict[str, Any]] = []
        self._points: list[Point] = []
        path = latest_checkpoint(run.checkpoints)
        start = _NOTHING_DONE
        if path is not None:
            start = read_run(path)
            _check_checkpoint(path, start, identity)
            self.lost = start["lost"]
        self.numbers = remaining(settings, self.lost)
        self._build()
        group.check_agreement(self._description(start["step"]))
        if path is not None:
            self._load_learners(lambda number: read_learner(path, number))
        self._take_up(start)
        group.barrier()  # nobody writes before all have read

        if group.main:
            self._open_journal(start)
        self.mark()

    def _build(self) -> None:
        """Learners as they begin, and what they exchange."""
        self.learners = _build_learners(self._settings, self._seed, self._store, self.numbers, self.group, self._device)
        start = next(iter(self.learners.values())).mixed()
        gone = set(range(self._settings.mixing.learners)) - set(self.numbers)
        self.mixing = build_mixing(self._settings, self.group, start, gone)

    def _description(self, step: int) -> str:
        """All that processes must agree on to understand each other: who mixes with whom, and names, shapes and types
        of what they send."""
        learner = next(iter(self.learners.values()))
        shapes = {name: [str(tensor.dtype), *tensor.shape] for name, tensor in learner.tensors().items()}
        mixed = {name: [[str(one.dtype), *one.shape] for one in parts] for name, parts in learner.mixed().items()}
        return json.dumps([self._identity, code_digest(), self.numbers, step, self.mixing.digest, shapes, mixed])

    @property
    def images(self) -> int:
        """Real pictures seen by all learners, those that were lost included."""
        settings = self._settings
        each = settings.optimizer.batches * settings.training.batch
        return self._images_before + (self.step - self._step_before) * each * self.group.learners

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
        sent = self._bytes()
        for number, learner in self._of_learners().items():
            write_learner(temporary, number, learner.tensors, learner.numbers)
        self.group.barrier()
        if self.group.main:
            finish_checkpoint(temporary, self._of_run(sent, self.journal.sync(), self._clock.sync()))
            prune_checkpoints(folder, self.best_step)

    def mark(self) -> None:
        """Keep a copy in memory that survivors can go back to (see ``mixing.elastic``). All processes.

        Nothing is kept in a group that does not go on without some of its processes.
        """
        if not isinstance(self.group, Elastic):
            return
        sent = self._bytes()  # nobody gets further before all are here
        run = self._of_run(sent, *(_length(path) for path in (self._run.journal, self._run.clock)))
        copies = {
            number: LearnerState({name: one.clone() for name, one in tensors.items()}, copy.deepcopy(numbers))
            for number, (tensors, numbers) in self._of_learners().items()
        }
        self._points = [*self._points[-1:], Point(self.group.share(run), copies)]

    def rewire(self) -> str:
        """Go back to the last point that all survivors have, and go on without those that are lost. All processes.

        Learners and mixing are built anew, as for a run that is gone on with: nothing of what was under way is left.

        Returns:
            What happened, for people.

        Raises:
            LostError: one more has gone; to be called again.
        """
        group = self.group
        assert isinstance(group, Elastic)
        kept_journal = group.main
        step, losses = group.regroup([point.run["step"] for point in self._points])
        for loss in losses:
            learners = [self.numbers[place] for place in loss.learners]
            self.lost.append({"learners": learners, "rank": loss.rank, "step": step})
        self.numbers = remaining(self._settings, self.lost)
        self._points = [point for point in self._points if point.run["step"] <= step]
        point = self._points[-1]
        since = self.lost[len(point.run["lost"]) :]
        self._build()
        self._load_learners(point.learners.__getitem__, rewired=bool(since))
        self._take_up(point.run)
        if group.main:
            self._clear_after(step)
            self._open_journal(point.run, began=self._began if kept_journal else None)
            for entry in since:
                self.journal.append("lost", **entry)
        group.barrier()
        return self._describe(self.lost[len(self.lost) - len(losses) :])

    def _clear_after(self, step: int) -> None:
        """Remove what was written after a point: it was of a run of more learners."""
        remove_checkpoints_after(self._run.checkpoints, step)
        self._run.result.unlink(missing_ok=True)
        if step < self._settings.training.steps:
            shutil.rmtree(self._run.weights, ignore_errors=True)

    def _describe(self, losses: Sequence[Mapping[str, Any]]) -> str:
        who = " and ".join(
            f"process {loss['rank']} with learner{'s' * (len(loss['learners']) > 1)} "
            + ", ".join(map(str, loss["learners"]))
            for loss in losses
        )
        left = "1 learner goes" if len(self.numbers) == 1 else f"{len(self.numbers)} learners go"
        return f"lost {who or 'nobody'}; {left} on from step {self.step}"

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

    def _of_run(self, sent: int, journal_length: int, clock_length: int) -> dict[str, Any]:
        return {
            "bytes": sent,
            "step": self.step,
            "images": self.images,
            "fingerprint": self._identity,
            "code": code_digest(),
            "scores": self.scores,
            "best_step": self.best_step,
            "best_score": self._best_score if self.best_step is not None else None,
            "logged_step": self._logged_step,
            "steps_at_bound": self._steps_at_bound,
            "lost": self.lost,
            "journal_length": journal_length,
            "clock_length": clock_length,
        }

    def _of_learners(self) -> dict[int, LearnerState]:
        """State of this process's learners and of their mixing, by their own numbers. Not copies."""
        exchanged, found = self.mixing.tensors(), {}
        for place, learner in self.learners.items():
            mixing = {f"{_MIXING}{name}": tensor for name, tensor in exchanged.get(place, {}).items()}
            found[self.numbers[place]] = LearnerState({**learner.tensors(), **mixing}, learner.numbers())
        return found

    def _take_up(self, start: dict[str, Any]) -> None:
        """Take up what ``_of_run`` gave."""
        self.step = start["step"]
        self.scores = start["scores"]
        self.best_step = start["best_step"]
        self._best_score = start["best_score"] if self.best_step is not None else math.inf
        self._logged_step = start["logged_step"]
        self._steps_at_bound = start["steps_at_bound"]
        self._bytes_before = start["bytes"]
        self._images_before = start["images"]
        self._step_before = start["step"]

    def _load_learners(self, read: Callable[[int], LearnerState], *, rewired: bool = False) -> None:
        """Take up what ``_of_learners`` gave; ``rewired``: when there were more learners."""
        exchanged: dict[int, Mapping[str, Tensor]] = {}
        for place, learner in self.learners.items():
            tensors, numbers = read(self.numbers[place])
            learner.load(tensors, numbers)
            exchanged[place] = {
                name.removeprefix(_MIXING): tensor.to(learner.device)
                for name, tensor in tensors.items()
                if name.startswith(_MIXING)
            }
        self.mixing.load(exchanged, rewired=rewired)

    def _open_journal(self, start: dict[str, Any], began: float | None = None) -> None:
        """The journal and the clock, without what was written after a checkpoint or a point."""
        self.journal = Journal(self._run.journal, start["journal_length"])
        self._clock = Journal(self._run.clock, start["clock_length"])
        before = [entry["seconds"] for entry in read_journal(self._run.clock)]
        self._began = time.monotonic() - (before[-1] if before else 0.0) if began is None else began


def remaining(settings: Settings, lost: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """Numbers of the learners of a run that are there, ascending.

    Args:
        settings: ``mixing`` is read.
        lost: as ``TrainingState.lost``.
    """
    gone = {number for one in lost for number in one["learners"]}
    return tuple(number for number in range(settings.mixing.learners) if number not in gone)


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _build_learners(
    settings: Settings, seed: int, store: Store, numbers: Sequence[int], group: Group, device: torch.device
) -> dict[int, Learner]:
    """This process's learners, by place; each has the shard that it has among all learners of the run."""
    pictures = store.images("train")
    labels = store.labels("train") if store.manifest.has_labels else None
    mixing = settings.mixing
    shards = deal(mixing.shards, len(pictures), labels, mixing.learners, seed, mixing.dirichlet)
    learners = {}
    for place in group.local:
        shard = shards[numbers[place]]
        mine = torch.from_numpy(np.array(pictures[shard])).to(device)
        classes = (
            torch.from_numpy(np.array(labels[shard])).to(device)
            if settings.game.classes and labels is not None
            else None
        )
        learners[place] = Learner(numbers[place], settings, seed, mine, classes, device)
    return learners


def _check_checkpoint(path: Path, numbers: dict[str, Any], identity: str) -> None:
    if numbers["fingerprint"] != identity:
        raise UserError(
            f"{path}: a checkpoint of another run (fingerprint {numbers['fingerprint'][:12]}, this one is "
            f"{identity[:12]}); give another --out, or --overwrite to start over"
        )
    if numbers["code"] != code_digest():
        raise UserError(f"{path}: made by another version of gossipgan's code; finish with that, or --overwrite")
