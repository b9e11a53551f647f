import copy

import numpy as np
import pytest
import torch
from torch import nn

from gossipgan.evaluation import NotFiniteSamples, sample
from gossipgan.games.conditional import ConditionalBatchNorm2d

CPU = torch.device("cpu")


class Affine(nn.Module):
    """Noise as pictures, so that the result can be computed by hand."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return (noise * self.scale).view(-1, 1, 2, 2)


def normed(latent: int = 4) -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(latent, 12), nn.BatchNorm1d(12), nn.Dropout(0.5), nn.Unflatten(1, (3, 2, 2)), nn.Tanh()
    )


def draw(
    generator: nn.Module, count: int = 100, batch: int = 32, recompute: bool = False, classes: int = 0
) -> torch.Tensor:
    return sample(
        generator,
        4,
        count,
        batch=batch,
        noise_seed=5,
        device=CPU,
        recompute_batch_norm=recompute,
        classes=classes,
    )


def noise(count: int) -> np.ndarray:
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(5)).numpy()


def test_pictures_are_rounded_and_clamped_as_the_formula_says() -> None:
    expected = np.clip(np.round(noise(100).astype(np.float32) * np.float32(127.5) + np.float32(127.5)), 0, 255)
    drawn = draw(Affine())
    assert drawn.dtype == torch.uint8
    assert drawn.shape == (100, 1, 2, 2)
    np.testing.assert_array_equal(drawn.numpy().reshape(100, 4), expected.astype(np.uint8))


def test_the_ends_of_the_range_are_black_and_white() -> None:
    values = torch.tensor([-1.0, 1.0, -7.0, 7.0])

    class Constant(nn.Module):
        def forward(self, noise: torch.Tensor) -> torch.Tensor:
            return values.expand(len(noise), 4).view(-1, 1, 2, 2)

    assert draw(Constant(), 1).flatten().tolist() == [0, 255, 0, 255]


@pytest.mark.parametrize("recompute", [False, True])
def test_the_generator_is_left_as_it_was(recompute: bool) -> None:
    generator = normed().train()
    generator(torch.randn(50, 4))
    generator[2].eval()
    before = copy.deepcopy(generator.state_dict())
    modes = [part.training for part in generator.modules()]
    global_stream = torch.get_rng_state()
    draw(generator, recompute=recompute)
    after = generator.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert [part.training for part in generator.modules()] == modes
    assert generator[1].momentum == 0.1
    assert torch.equal(torch.get_rng_state(), global_stream)


def test_the_generator_is_left_as_it_was_when_it_fails() -> None:
    generator = normed().train()
    with torch.no_grad():
        generator[0].weight[0, 0] = torch.nan
    before = copy.deepcopy(generator.state_dict())
    with pytest.raises(NotFiniteSamples):
        draw(generator, recompute=True)
    after = generator.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before if "weight" not in name)
    assert generator.training


@pytest.mark.parametrize("scale", [float("nan"), float("inf")])
def test_pictures_that_are_not_finite_are_refused(scale: float) -> None:
    with pytest.raises(NotFiniteSamples):
        draw(Affine(scale))


@pytest.mark.parametrize("recompute", [False, True])
def test_the_same_noise_whatever_the_batch(recompute: bool) -> None:
    generator = Affine()
    assert torch.equal(draw(generator, batch=7, recompute=recompute), draw(generator, batch=100))


def test_recomputed_statistics_do_not_depend_on_the_stale_ones() -> None:
    fresh, stale = normed(), normed()
    with torch.no_grad():
        stale[1].running_mean += 3.0
        stale[1].running_var *= 9.0
    assert torch.equal(draw(fresh, recompute=True), draw(stale, recompute=True))
    assert not torch.equal(draw(fresh), draw(stale))


def test_recomputed_statistics_are_the_averages_over_batches() -> None:
    generator = normed().double().float()
    count, batch = 2048, 512  # whole batches, at least the 2,000 pictures that statistics are taken from
    hidden = generator[0](torch.from_numpy(noise(count))).detach().numpy().astype(np.float64)
    parts = hidden.reshape(-1, batch, 12)
    mean, variance = parts.mean(1).mean(0), parts.var(1, ddof=1).mean(0)
    values = np.tanh((hidden - mean) / np.sqrt(variance + 1e-5))
    expected = np.clip(np.round(values * 127.5 + 127.5), 0, 255)
    drawn = draw(generator, count, batch, recompute=True).numpy().reshape(count, 12)
    # float32 against float64: a value on the edge between two greys may fall to either side
    assert np.abs(drawn - expected).max() <= 1
    assert (drawn != expected).mean() < 1e-3


def test_recomputing_without_batch_norm_changes_nothing() -> None:
    assert torch.equal(draw(Affine(), recompute=True), draw(Affine(), recompute=False))


def test_spectral_norm_vectors_do_not_move_while_statistics_are_recomputed() -> None:
    torch.manual_seed(0)
    plain = nn.Linear(4, 4)
    generator = nn.Sequential(
        nn.utils.parametrizations.spectral_norm(plain), nn.BatchNorm1d(4), nn.Unflatten(1, (1, 2, 2))
    )
    # In training mode every forward pass is a power iteration, and would change the weight under way.
    weight = generator.eval()[0].weight.detach().clone()
    seen = []
    generator[0].register_forward_hook(lambda layer, _, __: seen.append(layer.weight.detach().clone()))
    draw(generator.train(), recompute=True)
    assert all(torch.equal(weight, other) for other in seen)


class Labelled(nn.Module):
    """Pictures that are their labels (as grey values), so that what was asked for can be read off."""

    def forward(self, noise: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        assert labels.dtype == torch.int64
        return ((labels - 127.5) / 127.5).view(-1, 1, 1, 1).expand(-1, 1, 2, 2)


class Conditional(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.dense = nn.Linear(4, 3 * 2 * 2)
        self.norm = ConditionalBatchNorm2d(3, classes)
        with torch.no_grad():
            self.norm.gain.normal_(1.0, 0.5)
            self.norm.bias.normal_(0.0, 0.5)

    def forward(self, noise: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        pictures: torch.Tensor = self.norm(self.dense(noise).unflatten(1, (3, 2, 2)), labels).tanh()
        return pictures


@pytest.mark.parametrize("batch", [7, 32, 100])
def test_classes_take_turns_whatever_the_batch(batch: int) -> None:
    labels = draw(Labelled(), 25, batch, classes=10)[:, 0, 0, 0]
    assert labels.tolist() == [*range(10), *range(10), *range(5)]


def test_the_noise_is_the_same_with_and_without_classes() -> None:
    class Ignorant(Affine):
        def forward(self, noise: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
            return super().forward(noise)

    assert torch.equal(draw(Ignorant(), classes=10), draw(Affine()))


@pytest.mark.parametrize("recompute", [False, True])
def test_a_conditional_generator_is_sampled_the_same_twice_and_left_as_it_was(recompute: bool) -> None:
    generator = Conditional(3)
    generator(torch.randn(50, 4), torch.arange(50) % 3)
    before = copy.deepcopy(generator.state_dict())
    assert torch.equal(draw(generator, recompute=recompute, classes=3), draw(generator, recompute=recompute, classes=3))
    assert all(torch.equal(before[name], tensor) for name, tensor in generator.state_dict().items())
    assert generator.norm.norm.momentum == 0.1
    assert all(part.training for part in generator.modules())


def test_recomputed_statistics_of_a_conditional_batch_norm_are_over_all_classes_together() -> None:
    generator = Conditional(3)
    count, batch = 2048, 512
    hidden = generator.dense(torch.from_numpy(noise(count))).detach().numpy().astype(np.float64)
    parts = hidden.reshape(-1, batch, 3, 4)
    mean = parts.mean((1, 3)).mean(0).reshape(1, 3, 1)
    variance = parts.transpose(0, 1, 3, 2).reshape(-1, batch * 4, 3).var(1, ddof=1).mean(0).reshape(1, 3, 1)
    labels = np.arange(count) % 3
    gain, bias = (tensor.detach().numpy()[labels][:, :, None] for tensor in (generator.norm.gain, generator.norm.bias))
    values = np.tanh((hidden.reshape(count, 3, 4) - mean) / np.sqrt(variance + 1e-5) * gain + bias)
    drawn = draw(generator, count, batch, recompute=True, classes=3).numpy().reshape(count, 3, 4)
    expected = np.clip(np.round(values * 127.5 + 127.5), 0, 255)
    assert np.abs(drawn - expected).max() <= 1
    assert (drawn != expected).mean() < 1e-3
