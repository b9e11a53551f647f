"""The GAN as a game: gradients of the players' losses, at their present weights.

Each method adds gradients into the ``grad`` of the parameters it names and of no others. The caller clears
them first and draws the batch: nothing here is random, and nothing waits for the device.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from gossipgan.games.losses import LOSSES, gradient_penalty


class Batch(NamedTuple):
    """What one gradient is taken on: pictures ``(N, C, H, W)`` in [-1, 1], noise ``(N, latent)``, for the
    gradient penalty a mix ``(N, 1, 1, 1)`` in [0, 1], and for class-conditional networks the classes of the
    pictures and those to generate, int64 ``(N,)``."""

    real: Tensor
    noise: Tensor
    mix: Tensor
    labels: Tensor | None = None
    fake_labels: Tensor | None = None


class GanGame:
    """Two networks and their losses.

    Args:
        generator: maps noise (and labels) to pictures.
        discriminator: maps pictures (and labels) to logits.
        loss: a name in ``LOSSES``.
        penalty: weight of the gradient penalty (``wgan-gp`` alone uses it).
        bf16: run the networks' forward passes under bfloat16 autocast; losses are float32 either way.
    """

    def __init__(
        self,
        generator: nn.Module,
        discriminator: nn.Module,
        loss: str,
        *,
        penalty: float = 10.0,
        bf16: bool = False,
    ) -> None:
        self.generator = generator
        self.discriminator = discriminator
        self.losses = LOSSES[loss]
        self._penalty = penalty if loss == "wgan-gp" else 0.0
        self._bf16 = bf16
        self._generator_parameters = list(generator.parameters())
        self._discriminator_parameters = list(discriminator.parameters())

    def discriminator_gradient(self, batch: Batch) -> Tensor:
        """Add the gradient of D's loss for D. Returns ``[loss of D, mean D(x), mean D(G(z))]``, on the device."""
        with torch.no_grad():
            fake = self._generate(batch.noise, batch.fake_labels)
        on_real = self._discriminate(batch.real, batch.labels)
        on_fake = self._discriminate(fake, batch.fake_labels)
        loss = self._discriminator_loss(on_real, on_fake, batch, fake)
        loss.backward(inputs=self._discriminator_parameters)  # type: ignore[no-untyped-call]
        return torch.stack((loss, on_real.mean(), on_fake.mean())).detach()

    def generator_gradient(self, noise: Tensor, labels: Tensor | None = None) -> Tensor:
        """Add the gradient of G's loss for G. Returns the loss, on the device.

        Args:
            noise: ``(N, latent)``.
            labels: int64 ``(N,)``, the classes to generate, where the networks are class-conditional.
        """
        # D is only passed through: without its weights' gradients the backward pass costs half.
        self.discriminator.requires_grad_(False)
        loss = self.losses.generator(self._discriminate(self._generate(noise, labels), labels))
        loss.backward()  # type: ignore[no-untyped-call]
        self.discriminator.requires_grad_(True)
        return loss.detach()

    def joint_gradient(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Add both players' gradients at one point, on one batch, with one forward pass of each network.

        Returns what ``discriminator_gradient`` and ``generator_gradient`` return.
        """
        fake = self._generate(batch.noise, batch.fake_labels)
        seen = fake.detach().requires_grad_()
        on_real = self._discriminate(batch.real, batch.labels)
        on_fake = self._discriminate(seen, batch.fake_labels)
        generator_loss = self.losses.generator(on_fake)
        (towards,) = torch.autograd.grad(generator_loss, seen, retain_graph=True)
        loss = self._discriminator_loss(on_real, on_fake, batch, fake.detach())
        loss.backward(inputs=self._discriminator_parameters)  # type: ignore[no-untyped-call]
        fake.backward(towards, inputs=self._generator_parameters)  # type: ignore[no-untyped-call]
        return torch.stack((loss, on_real.mean(), on_fake.mean())).detach(), generator_loss.detach()

    def player_losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """G's loss and D's, on one batch, as scalars that can be differentiated in both players' parameters, and again.

        (The gradients above are these losses' own: of the first for G, of the second for D.)
        """
        fake = self._generate(batch.noise, batch.fake_labels)
        on_real = self._discriminate(batch.real, batch.labels)
        on_fake = self._discriminate(fake, batch.fake_labels)
        return self.losses.generator(on_fake), self._discriminator_loss(on_real, on_fake, batch, fake)

    def _discriminator_loss(self, on_real: Tensor, on_fake: Tensor, batch: Batch, fake: Tensor) -> Tensor:
        loss = self.losses.discriminator(on_real, on_fake)
        if self._penalty:
            # A picture between a real and a generated one is judged as one of the real one's class.
            penalty = gradient_penalty(self.discriminator, batch.real, fake, batch.mix, batch.labels)
            loss = loss + self._penalty * penalty
        return loss

    def _generate(self, noise: Tensor, labels: Tensor | None) -> Tensor:
        with torch.autocast(noise.device.type, torch.bfloat16, enabled=self._bf16):
            pictures: Tensor = self.generator(noise) if labels is None else self.generator(noise, labels)
        return pictures.float() if self._bf16 else pictures

    def _discriminate(self, pictures: Tensor, labels: Tensor | None) -> Tensor:
        with torch.autocast(pictures.device.type, torch.bfloat16, enabled=self._bf16):
            logits: Tensor = self.discriminator(pictures) if labels is None else self.discriminator(pictures, labels)
        return logits.float() if self._bf16 else logits
