import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from gossipgan.evaluation.eigenvalues import Extremes
from gossipgan.evaluation.operators import linearize, training_field
from gossipgan.evaluation.spectrum import FieldSpectrum, NotFiniteField, PlayerSpectrum, Spectrum, game_spectrum
from gossipgan.games import Batch, GanGame


def small_game(width: int, loss: str = "nonsaturating", dtype: torch.dtype = torch.float64) -> tuple[GanGame, Batch]:
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.SiLU(), nn.Linear(width, 9), nn.Tanh())
    discriminator = nn.Sequential(
        spectral_norm(nn.Linear(9, width)), nn.Softplus(), spectral_norm(nn.Linear(width, 1)), nn.Flatten(0)
    )
    drawn = torch.rand(20, 9) * 2 - 1, torch.randn(20, 3), torch.rand(20, 1)
    return GanGame(generator.to(dtype), discriminator.to(dtype), loss), Batch(*(part.to(dtype) for part in drawn))


def dense_eigenvalues(game: GanGame, batch: Batch) -> list[np.ndarray]:
    """Of both Hessians and of the Jacobian, from their matrices."""
    with training_field(game.generator, game.discriminator):
        players = list(game.generator.parameters()), list(game.discriminator.parameters())
        point = linearize(game.player_losses(batch), players)
    jacobian = np.stack([point.jacobian(row) for row in np.eye(point.jacobian.dimension)])
    first = point.hessians[0].dimension
    blocks = jacobian[:first, :first], jacobian[first:, first:]
    return [*(np.linalg.eigvalsh(block) for block in blocks), np.linalg.eigvals(jacobian)]


@pytest.mark.parametrize("loss", ["nonsaturating", "wgan-gp"])
@pytest.mark.parametrize(("width", "dtype", "tolerance"), [(4, torch.float64, 1e-9), (28, torch.float32, 2e-3)])
def test_it_finds_the_ends_of_the_dense_spectra(width: int, dtype: torch.dtype, tolerance: float, loss: str) -> None:
    game, batch = small_game(width, loss, dtype)
    in_double = small_game(width, loss)
    generator, discriminator, jacobian = dense_eigenvalues(*in_double)

    spectrum = game_spectrum(game, batch, top=4)

    assert spectrum.missing == 0
    for player, expected in ((spectrum.generator, generator), (spectrum.discriminator, discriminator)):
        scale = np.abs(expected).max()
        assert player.largest.exact == (width == 4)
        np.testing.assert_allclose(player.largest.values, expected[::-1][:4], atol=tolerance * scale)
        np.testing.assert_allclose(player.smallest.values, expected[:4], atol=tolerance * scale)
    scale = np.abs(jacobian).max()
    found = spectrum.jvf.largest.values, spectrum.jvf.leftmost.values
    np.testing.assert_allclose(np.abs(found[0][:4]), np.sort(np.abs(jacobian))[::-1][:4], atol=tolerance * scale)
    np.testing.assert_allclose(found[1].real[:4], np.sort(jacobian.real)[:4], atol=tolerance * scale)
    for value in np.concatenate(found):
        assert np.abs(jacobian - value).min() <= tolerance * scale


def test_it_reports_progress_and_counts_what_it_took() -> None:
    game, batch = small_game(28)
    told: dict[str, int] = {}

    spectrum = game_spectrum(game, batch, top=2, report=lambda name, products: told.update({name: products}))

    taken = [part.products for part in spectrum]
    assert told == dict(zip(("Hessian of G", "Hessian of D", "JVF"), taken, strict=True))
    assert all(products < 500 for products in taken)


def test_weights_that_are_not_finite_have_no_spectrum() -> None:
    game, batch = small_game(4)
    with torch.no_grad():
        next(game.generator.parameters()).fill_(torch.nan)

    with pytest.raises(NotFiniteField, match="G's loss is nan"):
        game_spectrum(game, batch)


def extremes(*values: complex, missing: int = 0) -> Extremes:
    return Extremes(np.array(values), missing, False)


def spectrum_of(largest: Extremes, leftmost: Extremes) -> Spectrum:
    player = PlayerSpectrum(100, 0.5, 0.1, extremes(3.0, 2.0), extremes(-1.0, missing=1), 50)
    return Spectrum(player, player, FieldSpectrum(200, largest, leftmost, 80))


def test_what_is_found_from_both_ends_counts_once() -> None:
    field = spectrum_of(
        extremes(10, 2 + 5j, 2 - 5j, -3, -3),
        extremes(-3.0001, -3 + 0.0001j, -3 - 0.0001j, -1 + 1j, -1 - 1j, 2 + 5.0002j, 2 - 5.0002j),
    ).jvf

    np.testing.assert_allclose(field.found, [10, 2 + 5j, 2 - 5j, -3, -3, -3, -1 + 1j, -1 - 1j], atol=1e-3)
    assert field.radius == 10
    assert field.rotating == 4
    assert field.negative == 5
    assert field.steepest == pytest.approx(2.5)


def test_zero_as_far_as_float32_tells_neither_rotates_nor_pushes_away() -> None:
    field = spectrum_of(extremes(100, 1e-4 + 2e-4j, 1e-4 - 2e-4j), extremes(-1e-4, 1 + 0.001j, 1 - 0.001j)).jvf

    assert (field.rotating, field.negative) == (0, 0)
    assert field.steepest == pytest.approx(0.001)


def test_a_purely_imaginary_eigenvalue_is_infinitely_steep_and_null_in_json() -> None:
    spectrum = spectrum_of(extremes(1j, -1j), extremes(1j, -1j))

    assert spectrum.jvf.rotating == 2
    assert spectrum.jvf.steepest == math.inf
    assert spectrum.summary()["jvf_max_imaginary_to_real"] is None


def test_the_summary_is_the_ends_and_what_did_not_converge_is_counted_or_null() -> None:
    spectrum = spectrum_of(extremes(-4, 2 + 1j, 2 - 1j), Extremes(np.empty(0, np.complex128), 3, False))

    assert spectrum.summary() == {
        "generator_largest": 3.0,
        "generator_smallest": -1.0,
        "discriminator_largest": 3.0,
        "discriminator_smallest": -1.0,
        "jvf_radius": 4.0,
        "jvf_smallest_real": None,
        "jvf_found": 3,
        "jvf_rotating": 2,
        "jvf_negative": 1,
        "jvf_max_imaginary_to_real": 0.5,
        "missing": 5,
    }
    assert spectrum.as_json()["jvf"]["largest"] == {
        "values": [[-4.0, 0.0], [2.0, 1.0], [2.0, -1.0]],
        "missing": 0,
        "exact": False,
    }
