"""A learner: one copy of both players, with its own optimizers, averages, data and random streams."""

from typing import Any

import torch
from torch import Tensor

from gossipgan.config import Settings
from gossipgan.games import Batch, GanGame, build
from gossipgan.optimizers import (
    ExponentialAverage,
    FlatPlayer,
    JointLookahead,
    build_optimizer,
    load_optimizer_tensors,
    optimizer_tensors,
)
from gossipgan.training.sampler import Sampler
from gossipgan.training.streams import Streams


class Learner:
    """One learner of a run.

    Args:
        number: from 0.
        settings: the experiment's.
        seed: the run's.
        pictures: the learner's shard, uint8 ``(N, C, H, W)``, on ``device``.
        device: where the players live.
    """

    def __init__(self, number: int, settings: Settings, seed: int, pictures: Tensor, device: torch.device) -> None:
        self.settings = settings
        self.device = device
        self.streams = Streams(seed, number)
        self.sampler = Sampler(len(pictures), settings.training.batch, self.streams, device)
        self._pictures = pictures
        self._format = torch.channels_last if settings.training.channels_last else torch.contiguous_format

        # All learners of a run start from the same weights, drawn at learner 0's address.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(Streams(seed, 0).at("initial weights", 0).initial_seed())
            generator, discriminator = (network.to(device) for network in build(settings.game, settings.data))
        channels_last = settings.training.channels_last
        self.generator = FlatPlayer(generator, channels_last=channels_last)
        self.discriminator = FlatPlayer(discriminator, channels_last=channels_last)
        if settings.training.compile:
            generator.compile()
            discriminator.compile()
        self.game = GanGame(
            generator,
            discriminator,
            settings.game.loss,
            penalty=settings.game.gradient_penalty,
            bf16=settings.training.precision == "bf16",
        )
        method = settings.optimizer
        self.generator_optimizer = build_optimizer(method.name, self.generator, method.generator)
        self.discriminator_optimizer = build_optimizer(method.name, self.discriminator, method.discriminator)
        self.lookahead: JointLookahead | None = None
        if settings.lookahead.kind == "joint":
            self.lookahead = JointLookahead(self.players, settings.lookahead.k, settings.lookahead.alpha)
        self.average: ExponentialAverage | None = None
        if settings.averaging.decay is not None:
            self.average = ExponentialAverage(self.generator, settings.averaging.decay, settings.averaging.buffers)

    @property
    def players(self) -> tuple[FlatPlayer, FlatPlayer]:
        """G and D, as flat players."""
        return self.generator, self.discriminator

    def play(self) -> Tensor:
        """The fast steps of one iteration.

        Returns:
            ``[loss of D, loss of G, mean D(x), mean D(G(z))]``, on the device; D's are of its last step.
        """
        if self.settings.optimizer.update == "simultaneous":
            return self._play_simultaneous()
        return self._play_alternating()

    def _play_alternating(self) -> Tensor:
        for _ in range(self.settings.optimizer.d_steps):
            self.discriminator.zero_grad()
            on_discriminator = self.game.discriminator_gradient(self.draw())
            self.discriminator_optimizer.step()
        self.generator.zero_grad()
        loss = self.game.generator_gradient(self.draw_noise())
        self.generator_optimizer.step()
        return _statistics(on_discriminator, loss)

    def _play_simultaneous(self) -> Tensor:
        self.discriminator.zero_grad()
        self.generator.zero_grad()
        on_discriminator, loss = self.game.joint_gradient(self.draw())
        self.discriminator_optimizer.step()
        self.generator_optimizer.step()
        return _statistics(on_discriminator, loss)

    def draw(self) -> Batch:
        """The next batch of pictures and noise."""
        real = self._pictures[self.sampler.next()].to(memory_format=self._format).float().div_(127.5).sub_(1)
        mix = real.new_empty(0)
        if self.settings.game.loss == "wgan-gp":
            mix = torch.rand(len(real), 1, 1, 1, generator=self.streams.next("penalty")).to(self.device)
        return Batch(real, self.draw_noise(), mix)

    def draw_noise(self) -> Tensor:
        """The next batch of noise, ``(batch, latent)``, drawn on the CPU: the same for every device."""
        shape = (self.settings.training.batch, self.settings.game.latent)
        return torch.randn(shape, generator=self.streams.next("noise")).to(self.device, non_blocking=True)

    def iterate(self, name: str) -> dict[str, Tensor]:
        """Weights and buffers of one iterate of G (``fast``, ``slow`` or ``ema``), by ``state_dict`` name: copies.

        Slow weights carry the fast weights' buffers. ``fast`` is what the weights are now: right after a
        backtrack that is the slow weights.
        """
        if name == "fast":
            return self.generator.state()
        if name == "slow":
            assert self.lookahead is not None
            vector, buffers = self.lookahead.slow(0)["vector"], self.generator.buffers()
        else:
            assert self.average is not None
            vector, buffers = self.average.vector, self.average.buffers
        fast = self.generator.vector.data.clone()
        self.generator.vector.data.copy_(vector)
        state = self.generator.state()
        self.generator.vector.data.copy_(fast)
        return {**state, **{key: buffer.clone() for key, buffer in buffers.items()}}

    def tensors(self) -> dict[str, Tensor]:
        """Everything of the learner's that is a tensor, by name. Not copies."""
        tensors: dict[str, Tensor] = {}
        for name, player, optimizer in (
            ("generator", self.generator, self.generator_optimizer),
            ("discriminator", self.discriminator, self.discriminator_optimizer),
        ):
            tensors[f"{name}.vector"] = player.vector.data
            tensors |= {f"{name}.buffer.{key}": value for key, value in player.buffers().items()}
            tensors |= {f"{name}.optimizer.{key}": value for key, value in optimizer_tensors(optimizer).items()}
            if self.lookahead is not None:
                tensors[f"{name}.slow"] = self.lookahead.slow(0 if name == "generator" else 1)["vector"]
        if self.average is not None:
            tensors |= {f"average.{key}": value for key, value in self.average.tensors().items()}
        return tensors

    def numbers(self) -> dict[str, Any]:
        """Everything of the learner's that is not a tensor, for JSON."""
        return {
            "draws": self.streams.draws,
            "drawn": self.sampler.drawn,
            "fast_steps": self.lookahead.fast_steps if self.lookahead is not None else 0,
        }

    def load(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Take up what ``tensors`` and ``numbers`` gave."""
        for name, optimizer in (
            ("generator", self.generator_optimizer),
            ("discriminator", self.discriminator_optimizer),
        ):
            prefix = f"{name}.optimizer."
            saved = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            load_optimizer_tensors(optimizer, saved)
        for key, value in self.tensors().items():
            value.copy_(tensors[key])
        self.streams.draws = dict(numbers["draws"])
        self.sampler.drawn = numbers["drawn"]
        if self.lookahead is not None:
            self.lookahead.fast_steps = numbers["fast_steps"]


def _statistics(on_discriminator: Tensor, generator_loss: Tensor) -> Tensor:
    loss, on_real, on_fake = on_discriminator
    return torch.stack((loss, generator_loss, on_real, on_fake))
