"""A run's game where its training ended: both players with their weights, and a fixed batch to look at them on."""

from typing import Any, NamedTuple

import numpy as np
import torch

from gossipgan.config import Settings
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation.finished import load_weights
from gossipgan.games import Batch, GanGame, build
from gossipgan.runs import RunDirectory


class Endpoint(NamedTuple):
    """Where training ended.

    Attributes:
        game: in float32, whatever precision it was trained in.
        batch: pictures, noise, the penalty's mix and classes.
        experiment, seed, fingerprint: which run it is of.
        step: iterations done.
        iterate: which of G's saved iterates training was at.
        weights: SHA-256 of the files of weights, by name as in ``result.json``.
    """

    game: GanGame
    batch: Batch
    experiment: str
    seed: int
    fingerprint: str
    step: int
    iterate: str
    weights: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """Which point it is, and on how many pictures it is looked at."""
        named = ("experiment", "seed", "fingerprint", "step", "iterate", "weights")
        return {**{name: getattr(self, name) for name in named}, "pictures": len(self.batch.real)}


def end_of_training(run: RunDirectory, store: Store, *, pictures: int, device: torch.device, seed: int = 0) -> Endpoint:
    """The game of a run that has ended, at its last weights (of several learners: at their mean).

    These are the fast weights; where Lookahead pulled G back in the very last iteration they are the slow ones, as D
    is saved after that, too.

    Args:
        run: the run.
        store: the pictures it was trained on.
        pictures: how many of the training split make the batch, and how many are generated: the first of a
            permutation.
        device: where the networks are put.
        seed: of the permutation, the noise and the mix; classes to generate go round.

    Raises:
        UserError: the run has not ended, was trained on other or fewer pictures, or has left no weights of that
            point; or they are damaged.
    """
    settings, identity = run.read_settings()
    result = run.read_result()
    if store.digest != identity["data_digest"]:
        raise UserError(
            f"{run.path}: was trained on other data (digest {identity['data_digest'][:12]}) than the store holds "
            f"({store.digest[:12]}); name its store with --data"
        )
    available = store.manifest.counts["train"]
    if not 2 <= pictures <= available:
        raise UserError(f"--pictures {pictures}: must be from 2 to the {available} of the training split")
    iterate = _last_iterate(settings, int(result["steps"]))
    files = {"generator": run.generator(iterate), "discriminator": run.discriminator()}
    if result["outcome"] != "ok" and not all(file.exists() for file in files.values()):
        raise UserError(f"{run.path}: this run diverged and left no weights, so there is no spectrum; see result.json")
    if iterate not in settings.iterates:
        raise UserError(
            f"{run.path}: G's {iterate} weights, at which training ended, were not saved, as evaluation.iterates "
            f"leaves them out; train it with {iterate} among them"
        )
    with torch.random.fork_rng(devices=[]):
        networks = dict(zip(files, build(settings.game, settings.data), strict=True))
    for name, file in files.items():
        load_weights(networks[name], file, result["weights"].get(file.stem))
        networks[name].to(device)
    return Endpoint(
        game=GanGame(
            networks["generator"],
            networks["discriminator"],
            settings.game.loss,
            penalty=settings.game.gradient_penalty,
        ),
        batch=_draw(settings, store, pictures, seed, device),
        experiment=identity["experiment"],
        seed=identity["seed"],
        fingerprint=identity["fingerprint"],
        step=int(result["steps"]),
        iterate=iterate,
        weights={file.stem: result["weights"][file.stem] for file in files.values()},
    )


def _last_iterate(settings: Settings, steps: int) -> str:
    """``slow`` where the last iteration ended in a backtrack of G."""
    lookahead = settings.lookahead
    # Lengths of random cycles are not known here: there the fast weights must do.
    backtracked = lookahead.kind != "none" and lookahead.k_max is None and steps % lookahead.k == 0
    return "slow" if backtracked else "fast"


def _draw(settings: Settings, store: Store, pictures: int, seed: int, device: torch.device) -> Batch:
    # In the order of the file, which is read from the disk; the order within a batch does not matter.
    chosen = np.sort(np.random.default_rng(seed).permutation(store.manifest.counts["train"])[:pictures])
    real = torch.from_numpy(store.images("train")[chosen]).float().div_(127.5).sub_(1)
    stream = torch.Generator().manual_seed(seed)
    noise = torch.randn(pictures, settings.game.latent, generator=stream)
    mix = torch.rand(pictures, 1, 1, 1, generator=stream)
    labels = fake_labels = None
    if settings.game.classes:
        labels = torch.from_numpy(store.labels("train")[chosen]).to(device)
        fake_labels = (torch.arange(pictures) % settings.game.classes).to(device)
    return Batch(real.to(device), noise.to(device), mix.to(device), labels, fake_labels)
