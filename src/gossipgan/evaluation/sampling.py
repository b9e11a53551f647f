"""Pictures from a generator, the way every score sees them: eval mode, fixed noise, rounded to uint8."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

#: Batch-norm statistics are recomputed over at least so many pictures, however few are wanted.
_STATISTICS_FROM = 2000


class NotFiniteSamples(ValueError):  # noqa: N818 (names what was found, which training takes for divergence)
    """The generator gave NaN or infinity: it has diverged, and there is nothing to score."""


def sample(
    generator: nn.Module,
    latent: int,
    count: int,
    *,
    batch: int,
    noise_seed: int,
    device: torch.device,
    recompute_batch_norm: bool,
    classes: int = 0,
) -> torch.Tensor:
    """Pictures of ``generator`` in eval mode, as uint8: ``x * 127.5 + 127.5``, rounded and clamped.

    The noise is standard normal, drawn on the CPU from a stream of its own: the same for every run,
    device and batch size. So are the labels: picture i is of class ``i mod classes``. The generator is left as it
    was: mode of every module and every buffer.

    Args:
        generator: maps noise ``(N, latent)``, and with classes labels ``(N,)`` after it, to pictures
            ``(N, C, H, W)`` in [-1, 1]; it is on ``device``.
        latent: length of the noise vector.
        count: pictures wanted.
        batch: pictures in a forward pass.
        noise_seed: seed of the noise.
        device: where the generator is.
        recompute_batch_norm: take the batch-norm statistics of these very weights, as an equal-weight average
            over batches of the same noise (of at least 2,000 pictures), and not those that training left in
            the buffers. Without batch norm this does nothing.
        classes: how many classes a class-conditional generator knows, 0 for an unconditional one.

    Returns:
        uint8 ``(count, C, H, W)`` on the CPU.

    Raises:
        NotFiniteSamples: a picture has NaN or infinity in it.
    """
    stream = torch.Generator().manual_seed(noise_seed)
    noise = torch.randn(count, latent, generator=stream)
    pictures = []
    with torch.no_grad(), _as_found_afterwards(generator):
        generator.eval()
        if recompute_batch_norm:
            _recompute_batch_norm(generator, noise, classes, batch, stream, device)
        for generated in _generate(generator, noise, classes, batch, device):
            if not torch.isfinite(generated).all():
                raise NotFiniteSamples("the generator's pictures are not finite: it has diverged")
            pictures.append((generated * 127.5 + 127.5).round_().clamp_(0, 255).to("cpu", torch.uint8))
    return torch.cat(pictures).contiguous()


def _generate(
    generator: nn.Module, noise: torch.Tensor, classes: int, batch: int, device: torch.device
) -> Iterator[torch.Tensor]:
    """Pictures as float32, a batch at a time; the classes take turns."""
    inputs = [noise, torch.arange(len(noise)) % classes] if classes else [noise]
    for parts in zip(*(torch.split(tensor, batch) for tensor in inputs), strict=True):
        yield generator(*(part.to(device) for part in parts)).float()


@contextmanager
def _as_found_afterwards(module: nn.Module) -> Iterator[None]:
    """Restore every buffer and the mode of every submodule on leaving the block."""
    modes = [(part, part.training) for part in module.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
    momenta = [(part, part.momentum) for part in module.modules() if isinstance(part, _BatchNorm)]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, kept in buffers:
                buffer.copy_(kept)
        for norm, momentum in momenta:
            norm.momentum = momentum
        for part, training in modes:
            part.training = training


def _recompute_batch_norm(
    generator: nn.Module,
    noise: torch.Tensor,
    classes: int,
    batch: int,
    stream: torch.Generator,
    device: torch.device,
) -> None:
    """Set running statistics to their plain average over whole batches of ``noise``, continued as needed.

    Only batch norms go into training mode, so that nothing else that training mode changes (the power
    iteration of a spectral norm, say) moves.
    """
    norms = [part for part in generator.modules() if isinstance(part, _BatchNorm) and part.track_running_stats]
    if not norms:
        return
    wanted = max(len(noise), _STATISTICS_FROM)
    whole = -(-wanted // batch) * batch
    noise = torch.cat([noise, torch.randn(whole - len(noise), noise.shape[1], generator=stream)])
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a cumulative average, in PyTorch's words
        norm.train()
    for _ in _generate(generator, noise, classes, batch, device):
        pass
    for norm in norms:
        norm.eval()
