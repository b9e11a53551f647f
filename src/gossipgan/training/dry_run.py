"""What an experiment takes, counted and timed on a real learner over a few iterations of the very loop.

The pictures are random: what is counted depends on their shape and number alone. Nothing is read or written. Where
there are several learners, one of them plays; what they exchange is left out.
"""

import math
import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch

from gossipgan.config import Settings
from gossipgan.errors import UserError
from gossipgan.games import count_parameters
from gossipgan.training.learner import Learner
from gossipgan.training.meters import BackwardMeter, OperationsMeter, add_storages

#: Iterations are timed until their mean is known to this share of itself (one standard error), ...
_ACCURACY = 0.02
#: ... and at least so many, unless these take so many seconds.
_LEAST = 3
_LONGEST = 60.0


@dataclass(frozen=True)
class Memory:
    """Bytes of one learner. The data set, and what scoring needs, are not among them.

    Attributes:
        players: weights and buffers of G and D.
        gradients: of G and D.
        optimizers: moments, earlier gradients, and the weights that an extrapolation goes back to.
        lookahead: slow weights, and the moments and statistics that are pulled back with them.
        averages: of G, with their buffers.
        activations: the most that autograd keeps at one moment for a backward pass: outputs of layers, normalised
            and cast weights.
        device_peak: the most that was allocated on the GPU in a timed iteration, all of the above included; None on
            a CPU.
    """

    players: int
    gradients: int
    optimizers: int
    lookahead: int
    averages: int
    activations: int
    device_peak: int | None

    @property
    def held(self) -> int:
        """What is held from one iteration to the next."""
        return self.players + self.gradients + self.optimizers + self.lookahead + self.averages


@dataclass(frozen=True)
class DryRun:
    """What an experiment takes.

    Attributes:
        generator_parameters: trainable numbers in G.
        discriminator_parameters: trainable numbers in D.
        memory: of one learner, in bytes.
        operations: floating-point operations of one learner's iteration in convolutions and matrix products,
            forward and backward, of both players; a multiplication and an addition are two.
        seconds: of one learner's iteration, mean over those timed; scoring, sample grids and checkpoints not included.
        seconds_error: standard error of that mean; None where one iteration was timed.
        timed: how many were.
        steps: iterations of the whole run.
        batch: pictures in a batch.
        learners: of the run.
        pictures: real ones, seen by all learners in the whole run.
    """

    generator_parameters: int
    discriminator_parameters: int
    memory: Memory
    operations: int
    seconds: float
    seconds_error: float | None
    timed: int
    steps: int
    batch: int
    learners: int
    pictures: int

    @property
    def all_operations(self) -> int:
        """Of the whole run, by all learners."""
        return self.operations * self.steps * self.learners

    @property
    def all_seconds(self) -> float:
        """Of the whole run, its learners one after another, without what they exchange."""
        return self.seconds * self.steps * self.learners


def dry_run(settings: Settings, seed: int, device: torch.device, *, seconds: float = 10.0) -> DryRun:
    """Play a few iterations of an experiment on random pictures and classes, and count.

    With ``training.compile`` operations and activations are counted without it, since compiled kernels cannot be
    looked into (they keep as much or less), and time and the GPU's peak are measured with it.

    Args:
        settings: the experiment's.
        seed: of weights and draws.
        device: where to play.
        seconds: for about so long iterations are timed, if their mean is not known earlier: at least a tenth of it,
            and at least three iterations or a minute.

    Raises:
        UserError: the GPU has not enough memory.
    """
    try:
        plain = settings.model_copy(update={"training": settings.training.model_copy(update={"compile": False})})
        learner = _learner(plain, seed, device)
        parameters = [count_parameters(player.network) for player in learner.players]
        operations, backward = OperationsMeter(), BackwardMeter(_count_state(learner)[1])
        with operations, backward:
            _iterate(learner)
        if settings.lookahead.moments == "pullback":
            _complete_cycles(learner)
        state, _ = _count_state(learner)
        if settings.training.compile:
            del learner
            learner = _learner(settings, seed, device)
            _iterate(learner)  # compiles
        times, peak = _time(learner, seconds)
    except torch.OutOfMemoryError:
        raise UserError(
            f"training.batch: {settings.training.batch} pictures do not fit into the memory of {device}; "
            "use fewer, or a smaller game.width"
        ) from None
    training, learners = settings.training, settings.mixing.learners
    return DryRun(
        generator_parameters=parameters[0],
        discriminator_parameters=parameters[1],
        memory=Memory(**state, activations=backward.most, device_peak=peak),
        operations=operations.count,
        seconds=statistics.mean(times),
        seconds_error=_error(times) if len(times) > 1 else None,
        timed=len(times),
        steps=training.steps,
        batch=training.batch,
        learners=learners,
        pictures=training.steps * settings.optimizer.batches * training.batch * learners,
    )


def _learner(settings: Settings, seed: int, device: torch.device) -> Learner:
    """A learner with one batch of noise for pictures."""
    data, count, classes = settings.data, settings.training.batch, settings.game.classes
    draws = torch.Generator().manual_seed(seed)
    shape = (count, data.channels, data.size, data.size)
    pictures = torch.randint(256, shape, dtype=torch.uint8, generator=draws).to(device)
    labels = torch.randint(classes, (count,), generator=draws).to(device) if classes else None
    return Learner(0, settings, seed, pictures, labels, device)


def _iterate(learner: Learner) -> None:
    """One iteration, as in ``train``; one learner has nobody to mix with."""
    learner.play()
    learner.average(learner.backtrack())


def _complete_cycles(learner: Learner) -> None:
    """Count every Lookahead to its next backtrack: slow moments come into being there."""
    for lookahead in learner.lookaheads.values():
        lookahead.fast_step()
        while not lookahead.slow_step():
            lookahead.fast_step()


def _count_state(learner: Learner) -> tuple[dict[str, int], set[int]]:
    """Bytes of what a learner holds from one iteration to the next, by the fields of ``Memory``, and where they are."""
    held: set[int] = set()
    # Each part is what those before it do not hold already.
    parts: dict[str, Any] = {
        "players": [(player.vector, player.buffers()) for player in learner.players],
        "gradients": [player.gradient for player in learner.players],
        "optimizers": [learner.generator_optimizer, learner.discriminator_optimizer],
        "lookahead": learner.lookaheads,
        "averages": learner.averages,
    }
    return {name: add_storages(part, held) for name, part in parts.items()}, held


def _time(learner: Learner, seconds: float) -> tuple[list[float], int | None]:
    """Seconds of each iteration timed, and the peak of the GPU's memory meanwhile."""
    on_gpu = learner.device.type == "cuda"
    if on_gpu:
        torch.cuda.synchronize(learner.device)
        torch.cuda.reset_peak_memory_stats(learner.device)
    times: list[float] = []
    while not _known(times, seconds):
        began = time.perf_counter()
        _iterate(learner)
        if on_gpu:
            torch.cuda.synchronize(learner.device)
        times.append(time.perf_counter() - began)
    return times, torch.cuda.max_memory_allocated(learner.device) if on_gpu else None


def _known(times: list[float], seconds: float) -> bool:
    """Whether these times are enough."""
    elapsed = sum(times)
    if len(times) < _LEAST:
        return elapsed > _LONGEST
    settled = elapsed > seconds / 10 and _error(times) < _ACCURACY * statistics.mean(times)
    return settled or elapsed > seconds


def _error(times: list[float]) -> float:
    return statistics.stdev(times) / math.sqrt(len(times))
