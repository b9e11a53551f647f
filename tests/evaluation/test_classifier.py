import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gossipgan.config import DataSettings, ExtractorSettings
from gossipgan.data import Store, prepare
from gossipgan.errors import UserError
from gossipgan.evaluation import train_extractor
from gossipgan.evaluation.classifier import Architecture, Classifier, shifted
from gossipgan.runs import sha256

QUICK = ExtractorSettings(width=4, features=8, epochs=1)


def coloured_store(folder: Path, size: int, labels: bool = True) -> Store:
    """Pictures of three classes that differ in which channel is bright."""
    generator = np.random.default_rng(0)
    classes = np.arange(90) % 3
    images = generator.integers(0, 100, (90, size, size, 3), dtype=np.uint8)
    images[np.arange(90), :, :, classes] += 120
    arrays = {"images": images, **({"labels": classes} if labels else {})}
    np.savez(folder / "pictures.npz", **arrays)
    settings = DataSettings(source="npz", path=str(folder / "pictures.npz"), size=size, channels=3, held_out=30)
    prepare(settings, folder / "prepared")
    return Store.open(folder / "prepared")


def test_held_out_accuracy_on_the_default_data_is_at_least_97_percent(trained, store) -> None:
    images, labels = store.images("held_out"), store.labels("held_out")
    with torch.no_grad():
        _, logits = Classifier.load(trained.folder / "extractor.safetensors")(torch.from_numpy(np.array(images)))
    accuracy = (logits.argmax(1).numpy() == labels).mean()
    assert accuracy >= 0.97
    assert trained.summary["held_out_accuracy"] == pytest.approx(accuracy, abs=1e-3)


def test_the_summary_is_what_is_written_and_names_the_weights(trained) -> None:
    assert json.loads((trained.folder / "extractor.json").read_text()) == trained.summary
    assert trained.summary["sha256"] == sha256(trained.folder / "extractor.safetensors")
    assert sorted(file.name for file in trained.folder.iterdir()) == ["extractor.json", "extractor.safetensors"]


def test_features_have_variance_near_one_on_the_training_pictures(trained, store) -> None:
    pictures = torch.from_numpy(np.array(store.images("train")[:1000]))
    with torch.no_grad():
        features, _ = Classifier.load(trained.folder / "extractor.safetensors")(pictures)
    assert features.shape == (1000, 64)
    assert features.var(0).min() > 0.1
    assert features.var(0).max() < 10


def test_equal_settings_give_equal_files_and_another_seed_gives_others(store, tmp_path: Path) -> None:
    settings = QUICK
    threads = torch.get_num_threads()
    stream = torch.get_rng_state()
    train_extractor(settings, store, tmp_path / "one", threads=1)
    torch.manual_seed(99)  # whatever the process drew before must not matter
    train_extractor(settings, store, tmp_path / "two", threads=1)
    train_extractor(settings.model_copy(update={"seed": 1}), store, tmp_path / "three", threads=1)
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for name in ("extractor.safetensors", "extractor.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
        assert (one / name).read_bytes() != (three / name).read_bytes()
    assert torch.get_num_threads() == threads
    torch.set_rng_state(stream)


@pytest.mark.parametrize("size", [28, 32, 64])
def test_it_learns_colour_pictures_of_each_size(size: int, tmp_path: Path) -> None:
    store = coloured_store(tmp_path, size)
    settings = ExtractorSettings(width=4, features=8, epochs=30, batch=20)
    summary = train_extractor(settings, store, tmp_path / "extractor", threads=1)
    assert summary["classes"] == 3
    assert summary["held_out_accuracy"] > 0.9  # chance is a third


@pytest.mark.parametrize(
    ("channels", "size", "classes"), [(1, 8, 2), (1, 28, 10), (3, 32, 7), (3, 64, 100), (1, 30, 10)]
)
def test_features_and_logits_have_the_lengths_asked_for(channels: int, size: int, classes: int) -> None:
    classifier = Classifier(Architecture(channels, size, classes, width=4, features=24)).eval()
    features, logits = classifier(torch.zeros(5, channels, size, size, dtype=torch.uint8))
    assert features.shape == (5, 24)
    assert logits.shape == (5, classes)


def test_saved_and_loaded_is_the_same_function(tmp_path: Path) -> None:
    classifier = Classifier(Architecture(1, 28, 10, 8, 16)).eval()
    classifier.save(tmp_path / "weights.safetensors")
    loaded = Classifier.load(tmp_path / "weights.safetensors")
    pictures = torch.randint(0, 256, (6, 1, 28, 28), dtype=torch.uint8)
    assert loaded.architecture == classifier.architecture
    for mine, other in zip(classifier(pictures), loaded(pictures), strict=True):
        torch.testing.assert_close(mine, other)


def test_data_without_labels_are_refused_in_a_line_that_names_the_other_extractor(tmp_path: Path) -> None:
    store = coloured_store(tmp_path, 28, labels=False)
    with pytest.raises(UserError, match=r"extractor\.kind.*no labels; use extractor\.kind: inception") as caught:
        train_extractor(QUICK, store, tmp_path / "extractor", threads=1)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "extractor").exists()


def test_a_rate_that_diverges_is_named(store, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"extractor\.lr"):
        train_extractor(QUICK.model_copy(update={"lr": 1e38}), store, tmp_path / "extractor", threads=1)
    assert not (tmp_path / "extractor").exists()


@pytest.mark.parametrize("damage", ["missing", "truncated", "other"])
def test_weights_that_cannot_be_read_are_named(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "extractor.safetensors"
    Classifier(Architecture(1, 28, 10, 4, 8)).save(path)
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        path.write_bytes(b"something else")
    with pytest.raises(UserError, match="extractor stage") as caught:
        Classifier.load(path)
    assert str(path) in str(caught.value)


def test_shifts_move_each_picture_and_repeat_the_edge() -> None:
    """Against numpy: pad by repeating the edge, then cut out a window."""
    pictures = torch.randint(0, 256, (40, 2, 6, 5), dtype=torch.uint8)
    moved = shifted(pictures, 2, torch.Generator().manual_seed(4)).numpy()
    down, right = torch.randint(-2, 3, (2, 40, 1), generator=torch.Generator().manual_seed(4)).numpy()[..., 0]
    assert len(set(zip(down, right, strict=True))) > 10
    for picture, result, dy, dx in zip(pictures.numpy(), moved, down, right, strict=True):
        padded = np.pad(picture, ((0, 0), (2, 2), (2, 2)), mode="edge")
        np.testing.assert_array_equal(result, padded[:, 2 - dy : 8 - dy, 2 - dx : 7 - dx])


def test_no_shift_leaves_pictures_alone() -> None:
    pictures = torch.randint(0, 256, (4, 1, 6, 6), dtype=torch.uint8)
    assert torch.equal(shifted(pictures, 0, torch.Generator()), pictures)


def test_a_single_class_is_refused(tmp_path: Path) -> None:
    manifest = SimpleNamespace(classes=("all",), has_labels=True)
    with pytest.raises(UserError, match="one class"):
        train_extractor(QUICK, SimpleNamespace(manifest=manifest), tmp_path, threads=1)
