"""A learner: one copy of both players, with its own optimizers, averages, data and random streams."""

from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from gossipgan.config import Settings
from gossipgan.games import Batch, GanGame, build
from gossipgan.optimizers import (
    FlatPlayer,
    JointLookahead,
    PlayerOptimizer,
    WeightAverage,
    exponential_average,
    uniform_average,
)
from gossipgan.training.sampler import Sampler
from gossipgan.training.streams import Streams


class Learner:
    """One learner of a run.

    Attributes:
        sums: ``[loss of D, loss of G, mean D(x), mean D(G(z))]`` added up since they were last cleared, on the
            device; D's are of the last D step of an iteration.

    Args:
        number: from 0.
        settings: the experiment's.
        seed: the run's.
        pictures: the learner's shard, uint8 ``(N, C, H, W)``, on ``device``.
        labels: the pictures' classes, int64 ``(N,)``, on ``device``; None where the game is not class-conditional.
        device: where the players live.
    """

    def __init__(
        self, number: int, settings: Settings, seed: int, pictures: Tensor, labels: Tensor | None, device: torch.device
    ) -> None:
        self.settings = settings
        self.device = device
        self.streams = Streams(seed, number)
        self.sampler = Sampler(len(pictures), settings.training.batch, self.streams, device)
        self.iterations = 0
        self.sums = torch.zeros(4, device=device)
        self._pictures = pictures
        self._labels = labels
        self._format = torch.channels_last if settings.training.channels_last else torch.contiguous_format

        # All learners of a run start from the same weights, drawn at learner 0's address.
        shared = Streams(seed, 0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(shared.at("initial weights", 0).initial_seed())
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
        method, steps = settings.optimizer, settings.training.steps
        self.generator_optimizer = PlayerOptimizer(self.generator, method, method.generator, steps)
        self.discriminator_optimizer = PlayerOptimizer(self.discriminator, method, method.discriminator, steps)
        self.lookaheads = self._build_lookaheads(shared)
        self.averages = self._build_averages()

    @property
    def players(self) -> tuple[FlatPlayer, FlatPlayer]:
        """G and D, as flat players."""
        return self.generator, self.discriminator

    def fast_steps(self) -> Generator[list[FlatPlayer], None, Tensor]:
        """The fast steps of one iteration, in pieces: yields the players whose gradients have just been taken.

        Whoever iterates may change these gradients before the next piece steps by them. Losses and D's mean outputs
        are added to ``sums`` at the end, and returned.
        """
        for optimizer in self._optimizers().values():
            optimizer.begin(self.iterations)
        self.iterations += 1
        simultaneous = self.settings.optimizer.update == "simultaneous"
        statistics = yield from self._simultaneous_steps() if simultaneous else self._alternating_steps()
        self.sums += statistics
        return statistics

    def play(self) -> Tensor:
        """The fast steps of one iteration, alone.

        Returns:
            what it added to ``sums``.
        """
        pieces = self.fast_steps()
        while True:
            try:
                next(pieces)
            except StopIteration as end:
                statistics: Tensor = end.value
                return statistics

    def _alternating_steps(self) -> Generator[list[FlatPlayer], None, Tensor]:
        for _ in range(self.settings.optimizer.d_steps):
            self.discriminator.zero_grad()
            on_discriminator = self.game.discriminator_gradient(self.draw())
            yield [self.discriminator]
            self.discriminator_optimizer.step()
            if self.settings.lookahead.kind == "alternating":
                self._backtrack("discriminator")
        self.generator.zero_grad()
        loss = self.game.generator_gradient(*self.draw_noise())
        yield [self.generator]
        self.generator_optimizer.step()
        return _statistics(on_discriminator, loss)

    def _simultaneous_steps(self) -> Generator[list[FlatPlayer], None, Tensor]:
        if self.generator_optimizer.evaluates_first:
            self._joint_gradient()
            yield [self.generator, self.discriminator]
        if self.generator_optimizer.extrapolates:
            self.discriminator_optimizer.extrapolate()
            self.generator_optimizer.extrapolate()
        on_discriminator, loss = self._joint_gradient()
        yield [self.generator, self.discriminator]
        self.discriminator_optimizer.step()
        self.generator_optimizer.step()
        return _statistics(on_discriminator, loss)

    def _joint_gradient(self) -> tuple[Tensor, Tensor]:
        self.discriminator.zero_grad()
        self.generator.zero_grad()
        return self.game.joint_gradient(self.draw())

    def mixed(self) -> dict[str, list[Tensor]]:
        """What neighbours mix of each player, by its name: weights; and moments and batch-norm statistics, if so
        set. Not copies."""
        settings, tensors = self.settings.mixing, {}
        for name, player in self._players().items():
            tensors[name] = [player.vector.data]
            if settings.moments == "mix":
                tensors[name] += self._optimizers()[name].moments()
            if settings.buffers == "mix":
                tensors[name] += list(player.batch_norm_statistics().values())
        return tensors

    def backtrack(self) -> int:
        """Lookahead: count the iteration, and pull the fast weights back where a cycle is complete.

        (Where each player backtracks inside its own step, D has done so; G's step was the last.)

        Returns:
            what ``slow_step`` returns for G: 0 where it did not backtrack.
        """
        levels = [
            self._backtrack(name)
            for name in self.lookaheads
            if not (self.settings.lookahead.kind == "alternating" and name == "discriminator")
        ]
        return levels[0] if levels else 0

    def _backtrack(self, name: str) -> int:
        self.lookaheads[name].fast_step()
        return self.lookaheads[name].slow_step()

    def anchor(self) -> None:
        """Make the present weights the slow ones: after these have been mixed."""
        for lookahead in self.lookaheads.values():
            lookahead.anchor()

    def average(self, level: int) -> None:
        """Take the present weights of G into the averages of this iteration.

        Args:
            level: what ``backtrack`` returned.
        """
        settings = self.settings.averaging
        if "ema" in self.averages:
            self.averages["ema"].update()
        if "ema-slow" in self.averages and level >= (2 if settings.ema_slow_at == "super-slow" else 1):
            self.averages["ema-slow"].update()
        if settings.uniform_from is not None and self.iterations > settings.uniform_from:
            self.averages["uniform"].update()

    def draw(self) -> Batch:
        """The next batch of pictures and noise."""
        chosen = self.sampler.next()
        real = self._pictures[chosen].to(memory_format=self._format).float().div_(127.5).sub_(1)
        mix = real.new_empty(0)
        if self.settings.game.loss == "wgan-gp":
            mix = torch.rand(len(real), 1, 1, 1, generator=self.streams.next("penalty")).to(self.device)
        labels = None if self._labels is None else self._labels[chosen]
        noise, fake_labels = self.draw_noise()
        return Batch(real, noise, mix, labels, fake_labels)

    def draw_noise(self) -> tuple[Tensor, Tensor | None]:
        """The next batch of noise, ``(batch, latent)``, and of classes to make; drawn on the CPU: the same for
        every device."""
        batch, classes = self.settings.training.batch, self.settings.game.classes
        noise = torch.randn(batch, self.settings.game.latent, generator=self.streams.next("noise"))
        labels = None
        if classes:
            labels = torch.randint(classes, (batch,), generator=self.streams.next("classes"))
            labels = labels.to(self.device, non_blocking=True)
        return noise.to(self.device, non_blocking=True), labels

    def iterate(self, name: str) -> dict[str, Tensor]:
        """Weights and buffers of one iterate of G (``fast``, ``slow``, ``ema``, ...), by ``state_dict`` name: copies.

        Slow weights carry the fast weights' buffers. ``fast`` is what the weights are now: right after a
        backtrack that is the slow weights.
        """
        if name == "fast":
            return self.generator.state()
        if name == "slow":
            vector, buffers = next(iter(self.lookaheads.values())).slow(0)["vector"], self.generator.buffers()
        else:
            vector, buffers = self.averages[name].vector, self.averages[name].buffers
        fast = self.generator.vector.data.clone()
        self.generator.vector.data.copy_(vector)
        state = self.generator.state()
        self.generator.vector.data.copy_(fast)
        return {**state, **{key: buffer.clone() for key, buffer in buffers.items()}}

    def tensors(self) -> dict[str, Tensor]:
        """Everything of the learner's that is a tensor, by name. Not copies."""
        tensors = self._weights()
        for name, optimizer in self._optimizers().items():
            tensors |= {f"{name}.optimizer.{key}": value for key, value in optimizer.tensors().items()}
        for name, lookahead in self.lookaheads.items():
            state = lookahead.state_dict()
            tensors |= {f"lookahead.{name}.{key}": value for key, value in state.items() if isinstance(value, Tensor)}
        return tensors

    def numbers(self) -> dict[str, Any]:
        """Everything of the learner's that is not a tensor, for JSON."""
        return {
            "iterations": self.iterations,
            "draws": self.streams.draws,
            "drawn": self.sampler.drawn,
            "lookahead": {
                name: {key: value for key, value in lookahead.state_dict().items() if not isinstance(value, Tensor)}
                for name, lookahead in self.lookaheads.items()
            },
            "updates": {name: average.updates for name, average in self.averages.items()},
        }

    def load(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Take up what ``tensors`` and ``numbers`` gave."""
        for key, value in self._weights().items():
            value.copy_(tensors[key])
        for name, optimizer in self._optimizers().items():
            optimizer.load(_below(f"{name}.optimizer.", tensors))
        for name, lookahead in self.lookaheads.items():
            lookahead.load_state_dict({**_below(f"lookahead.{name}.", tensors), **numbers["lookahead"][name]})
        for name, average in self.averages.items():
            average.updates = numbers["updates"][name]
        self.iterations = numbers["iterations"]
        self.streams.draws = dict(numbers["draws"])
        self.sampler.drawn = numbers["drawn"]

    def _weights(self) -> dict[str, Tensor]:
        """Weights and buffers of the players and of the averages, and sums, by name. Not copies."""
        tensors: dict[str, Tensor] = {"sums": self.sums}
        for name, player in self._players().items():
            tensors[f"{name}.vector"] = player.vector.data
            tensors |= {f"{name}.buffer.{key}": value for key, value in player.buffers().items()}
        for name, average in self.averages.items():
            tensors |= {f"average.{name}.{key}": value for key, value in average.tensors().items()}
        return tensors

    def _players(self) -> dict[str, FlatPlayer]:
        return {"generator": self.generator, "discriminator": self.discriminator}

    def _optimizers(self) -> dict[str, PlayerOptimizer]:
        return {"generator": self.generator_optimizer, "discriminator": self.discriminator_optimizer}

    def _build_lookaheads(self, shared: Streams) -> dict[str, JointLookahead]:
        """One for both players, or one for each; that of G comes first.

        A random k is drawn at learner 0's address, so that all learners backtrack at the same moments.
        """
        settings = self.settings.lookahead
        if settings.kind == "none":
            return {}

        def length(cycle: int) -> int:
            assert settings.k_max is not None
            return int(torch.randint(settings.k, settings.k_max + 1, (), generator=shared.at("lookahead k", cycle)))

        def build_one(names: tuple[str, ...], k: int) -> JointLookahead:
            return JointLookahead(
                [self._players()[name] for name in names],
                k if settings.k_max is None else length,
                settings.alpha,
                super_k=settings.super_k if settings.kind == "nested" else None,
                super_alpha=settings.super_alpha,
                optimizers=[one for name in names for one in self._optimizers()[name].optimizers],
                moments=settings.moments,
                buffers=settings.buffers,
            )

        if settings.kind == "alternating" or settings.discriminator_k is not None:
            own = {"generator": settings.k, "discriminator": settings.discriminator_k or settings.k}
            return {name: build_one((name,), k) for name, k in own.items()}
        return {"players": build_one(("generator", "discriminator"), settings.k)}

    def _build_averages(self) -> dict[str, WeightAverage]:
        settings, averages = self.settings.averaging, {}
        if settings.decay is not None:
            averages["ema"] = exponential_average(self.generator, settings.decay, settings.buffers)
        if settings.ema_slow_decay is not None:
            averages["ema-slow"] = exponential_average(self.generator, settings.ema_slow_decay, settings.buffers)
        if settings.uniform_from is not None:
            averages["uniform"] = uniform_average(self.generator, settings.buffers)
        return averages


def _statistics(on_discriminator: Tensor, generator_loss: Tensor) -> Tensor:
    loss, on_real, on_fake = on_discriminator
    return torch.stack((loss, generator_loss, on_real, on_fake))


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
