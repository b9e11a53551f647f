from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from gossipgan.config import Settings
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import end_of_training
from gossipgan.games import build
from gossipgan.runs import RunDirectory

CPU = torch.device("cpu")


def finished_run(path: Path, store: Store, outcome: str = "ok", steps: int = 12, **sections: Any) -> RunDirectory:
    """A run with freshly initialised networks for weights."""
    settings = Settings.model_validate({"game": {"width": 4, "latent": 3}, **sections})
    run = RunDirectory(path)
    run.write_settings(settings, 1, store.digest, "baseline")
    run.weights.mkdir(parents=True)
    for seed, iterate in enumerate(settings.iterates):
        torch.manual_seed(seed)
        generator, discriminator = build(settings.game, settings.data)
        save_file(generator.state_dict(), run.generator(iterate))
    save_file(discriminator.state_dict(), run.discriminator())
    run.write_result(outcome=outcome, steps=steps)
    return run


def weights(network: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().reshape(-1) for p in network.parameters()])


def saved(network: torch.nn.Module, path: Path) -> torch.Tensor:
    state = load_file(path)
    return torch.cat([state[name].reshape(-1) for name, _ in network.named_parameters()])


def test_it_is_the_fast_weights_of_g_beside_d(tmp_path: Path, store: Store) -> None:
    run = finished_run(tmp_path / "run", store)

    point = end_of_training(run, store, pictures=16, device=CPU)

    assert (point.iterate, point.step) == ("fast", 12)
    assert torch.equal(weights(point.game.generator), saved(point.game.generator, run.generator("fast")))
    assert torch.equal(weights(point.game.discriminator), saved(point.game.discriminator, run.discriminator()))
    recorded = run.read_result()["weights"]
    assert point.weights == {name: recorded[name] for name in ("generator-fast", "discriminator")}


@pytest.mark.parametrize(
    ("lookahead", "iterate"),
    [
        ({"kind": "joint", "k": 4}, "slow"),
        ({"kind": "joint", "k": 5}, "fast"),
        ({"kind": "alternating", "k": 6}, "slow"),
        ({"kind": "joint", "k": 5, "discriminator_k": 4}, "fast"),
        ({"kind": "nested", "k": 4, "super_k": 8}, "slow"),
        ({"kind": "none", "k": 4}, "fast"),
    ],
)
def test_after_a_backtrack_in_the_last_iteration_training_is_at_the_slow_weights(
    tmp_path: Path, store: Store, lookahead: dict[str, Any], iterate: str
) -> None:
    run = finished_run(tmp_path / "run", store, lookahead=lookahead)

    point = end_of_training(run, store, pictures=16, device=CPU)

    assert point.iterate == iterate
    assert torch.equal(weights(point.game.generator), saved(point.game.generator, run.generator(iterate)))


def test_the_batch_is_real_pictures_in_the_range_of_training_and_the_same_for_every_run(
    tmp_path: Path, store: Store
) -> None:
    first, second = (
        end_of_training(finished_run(tmp_path / name, store), store, pictures=40, device=CPU).batch
        for name in ("first", "second")
    )

    known = {picture.tobytes() for picture in store.images("train")}
    shown = (first.real * 127.5 + 127.5).round().to(torch.uint8).numpy()
    assert len({picture.tobytes() for picture in shown} & known) == 40
    assert first.noise.shape == (40, 3)
    assert first.mix.shape == (40, 1, 1, 1)
    for one, other in zip(first, second, strict=True):
        assert one is other is None or torch.equal(one, other)


def test_a_class_conditional_game_gets_the_pictures_classes_and_all_classes_to_generate(tmp_path: Path) -> None:
    from gossipgan.config import DataSettings
    from gossipgan.data import prepare

    data = {"size": 32, "resize": True, "limit": 60, "held_out": 20}
    prepare(DataSettings(**data), tmp_path / "prepared")
    store = Store.open(tmp_path / "prepared")
    game = {"network": "resnet32", "width": 4, "latent": 3, "classes": 10}
    run = finished_run(tmp_path / "run", store, game=game, data=data)

    point = end_of_training(run, store, pictures=30, device=CPU)

    assert point.batch.labels is not None
    assert point.batch.fake_labels is not None
    classes = {p.tobytes(): c for p, c in zip(store.images("train"), store.labels("train"), strict=True)}
    shown = (point.batch.real * 127.5 + 127.5).round().to(torch.uint8).numpy()
    assert [classes[picture.tobytes()] for picture in shown] == point.batch.labels.tolist()
    assert np.bincount(point.batch.fake_labels).tolist() == [3] * 10
    assert all(torch.isfinite(loss) for loss in point.game.player_losses(point.batch))


def test_mistakes_are_named(tmp_path: Path, store: Store) -> None:
    def refused(run: RunDirectory, pictures: int = 16) -> str:
        with pytest.raises(UserError) as mistake:
            end_of_training(run, store, pictures=pictures, device=CPU)
        assert "\n" not in str(mistake.value)
        return str(mistake.value)

    run = finished_run(tmp_path / "run", store)
    assert "--pictures 1: must be from 2 to the 3000" in refused(run, 1)
    assert "--pictures 3001: " in refused(run, 3001)
    assert "not a run directory" in refused(RunDirectory(tmp_path))

    other = finished_run(tmp_path / "other", store)
    settings, _ = other.read_settings()
    other.write_settings(settings, 1, "0" * 64, "baseline")
    assert "was trained on other data (digest 000000000000)" in refused(other)

    (run.path / "result.json").unlink()
    assert "has not ended" in refused(run)

    bare = finished_run(tmp_path / "bare", store, outcome="diverged")
    bare.discriminator().unlink()
    assert "diverged and left no weights" in refused(bare)

    unsaved = finished_run(tmp_path / "unsaved", store, evaluation={"iterates": ["ema"]})
    assert "G's fast weights, at which training ended, were not saved" in refused(unsaved)

    damaged = finished_run(tmp_path / "damaged", store)
    damaged.discriminator().write_bytes(b"not weights")
    assert "not the weights that result.json records" in refused(damaged)
