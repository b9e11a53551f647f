"""The iterates of G: scored for the curve, drawn as sample grids, saved at the end."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from gossipgan.config import Settings
from gossipgan.evaluation import Ruler, sample
from gossipgan.games import build
from gossipgan.mixing.arithmetic import mean
from gossipgan.mixing.group import Group
from gossipgan.runs import RunDirectory, atomic
from gossipgan.training.grid import save_grid
from gossipgan.training.learner import Learner

State = dict[str, Tensor]

#: Pictures in a sample grid.
_GRID = 64


class Iterates:
    """Looks at the learners' generators through a network of its own, so that training is not touched.

    Of several learners an iterate is the mean of theirs, weights and batch-norm statistics alike (the consensus
    mean); each learner's own are saved beside it. In every method ``fast`` is the fast weights and buffers as they
    were before a backtrack at this step.
    """

    def __init__(self, settings: Settings, ruler: Ruler, group: Group, device: torch.device) -> None:
        self._settings = settings
        self._ruler = ruler
        self._group = group
        self._device = device
        self._taken: dict[str, list[State]] = {}
        with torch.random.fork_rng(devices=[]):
            self._generator = build(settings.game, settings.data)[0].to(device)
        #: Name of the score that curves and the best checkpoint go by.
        self.primary = ruler.metric_name("fid", settings.evaluation.headline)

    def take(self, learners: Sequence[Learner], fast: Sequence[State], *, everything: bool = False) -> None:
        """Collect the iterates of all learners on the main process, for what follows. All processes.

        Args:
            learners: of this process.
            fast: their fast weights and buffers before the backtrack; empty: as they are now.
            everything: all iterates and D, to be saved, and not the headline iterate alone.
        """
        names = self._settings.iterates if everything else (self._settings.evaluation.headline,)
        self._taken = {
            name: self._gather(
                [
                    fast[index] if name == "fast" and fast else learner.iterate(name)
                    for index, learner in enumerate(learners)
                ]
            )
            for name in names
        }
        if everything:
            self._taken["discriminator"] = self._gather([learner.discriminator.state() for learner in learners])

    def score(self) -> dict[str, float]:
        """FID of the headline iterate, by name.

        Raises:
            NotFiniteSamples: G makes NaN or infinity.
        """
        return {self.primary: self._ruler.score(self._sample(self._settings.evaluation.samples), ("fid",))["fid"]}

    def save_samples(self, run: RunDirectory, step: int) -> str:
        """A grid of the headline iterate's samples; returns the file, relative to the run directory.

        Raises:
            NotFiniteSamples: G makes NaN or infinity.
        """
        path = run.samples / f"step-{step:08d}.png"
        save_grid(self._sample(_GRID), path)
        return str(path.relative_to(run.path))

    def save(self, run: RunDirectory, numbers: Sequence[int]) -> None:
        """All iterates of G, and D, into the run's weights: their means, and each learner's own of several.

        Args:
            run: the run.
            numbers: of all learners, in the order of their places.
        """
        for name, states in self._taken.items():
            _save(_mean(states), run.discriminator() if name == "discriminator" else run.generator(name))
            if len(states) > 1:
                for number, state in zip(numbers, states, strict=True):
                    at_learner = run.discriminator(number) if name == "discriminator" else run.generator(name, number)
                    _save(state, at_learner)

    def _gather(self, states: list[State]) -> list[State]:
        """Every learner's state, of this process's in."""
        gathered = {key: self._group.gather([state[key] for state in states]) for key in states[0]}
        everybody = next(iter(gathered.values()))
        return [{key: tensors[index] for key, tensors in gathered.items()} for index in range(len(everybody))]

    def _sample(self, count: int) -> Tensor:
        evaluation = self._settings.evaluation
        self._generator.load_state_dict(_mean(self._taken[evaluation.headline]))
        return sample(
            self._generator,
            self._settings.game.latent,
            count,
            batch=evaluation.batch,
            noise_seed=evaluation.noise_seed,
            device=self._device,
            recompute_batch_norm=evaluation.batch_norm == "recompute",
            classes=self._settings.game.classes,
        )


def _mean(states: list[State]) -> State:
    """Means of floating-point tensors; counts are the first learner's."""
    return {
        key: mean([state[key] for state in states]) if tensor.is_floating_point() else tensor
        for key, tensor in states[0].items()
    }


def _save(state: State, path: Path) -> None:
    with atomic(path) as temporary:
        save_file({name: tensor.contiguous().cpu() for name, tensor in state.items()}, temporary)
