"""The iterates of G: scored for the curve, drawn as sample grids, saved at the end."""

import torch
from safetensors.torch import save_file
from torch import Tensor

from gossipgan.config import Settings
from gossipgan.evaluation import Ruler, sample
from gossipgan.games import build
from gossipgan.runs import RunDirectory, atomic
from gossipgan.training.grid import save_grid
from gossipgan.training.learner import Learner

#: Pictures in a sample grid.
_GRID = 64


class Iterates:
    """Looks at a learner's generator through a network of its own, so that training is not touched.

    In every method ``fast`` is the fast weights and buffers as they were before a backtrack at this step.
    """

    def __init__(self, settings: Settings, ruler: Ruler, device: torch.device) -> None:
        self._settings = settings
        self._ruler = ruler
        self._device = device
        with torch.random.fork_rng(devices=[]):
            self._generator = build(settings.game, settings.data)[0].to(device)
        #: Name of the score that curves and the best checkpoint go by.
        self.primary = ruler.metric_name("fid", settings.evaluation.headline)

    def score(self, learner: Learner, fast: dict[str, Tensor]) -> dict[str, float]:
        """FID of the headline iterate, by name.

        Raises:
            NotFiniteSamples: G makes NaN or infinity.
        """
        samples = self._sample(learner, fast, self._settings.evaluation.samples)
        return {self.primary: self._ruler.score(samples, ("fid",))["fid"]}

    def save_samples(self, run: RunDirectory, learner: Learner, fast: dict[str, Tensor], step: int) -> str:
        """A grid of the headline iterate's samples; returns the file, relative to the run directory.

        Raises:
            NotFiniteSamples: G makes NaN or infinity.
        """
        path = run.samples / f"step-{step:08d}.png"
        save_grid(self._sample(learner, fast, _GRID), path)
        return str(path.relative_to(run.path))

    def save(self, run: RunDirectory, learner: Learner, fast: dict[str, Tensor]) -> None:
        """All iterates of G that are asked for, and D, into the run's weights."""
        run.weights.mkdir(parents=True, exist_ok=True)
        files = {run.generator(name): self._state(learner, fast, name) for name in self._settings.iterates}
        files[run.weights / "discriminator.safetensors"] = learner.discriminator.state()
        for path, state in files.items():
            with atomic(path) as temporary:
                save_file({name: tensor.contiguous().cpu() for name, tensor in state.items()}, temporary)

    def _state(self, learner: Learner, fast: dict[str, Tensor], iterate: str) -> dict[str, Tensor]:
        return fast if iterate == "fast" and fast else learner.iterate(iterate)

    def _sample(self, learner: Learner, fast: dict[str, Tensor], count: int) -> Tensor:
        evaluation = self._settings.evaluation
        self._generator.load_state_dict(self._state(learner, fast, evaluation.headline))
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
