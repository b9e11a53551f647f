import json
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import torch
import torch_fidelity
from torch.utils.data import TensorDataset

from gossipgan.config import EvaluationSettings, ExtractorSettings, Settings
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import Ruler
from gossipgan.evaluation.classifier import Classifier
from gossipgan.runs import sha256

CPU = torch.device("cpu")
ALL = ("fid", "is", "kid", "prc")


class Pictures(TensorDataset):
    """A data set whose items are pictures, as torch-fidelity wants them."""

    def __getitem__(self, index: int) -> torch.Tensor:
        return super().__getitem__(index)[0]


def through_torch_fidelity(settings: Settings, folder: Path, generated: torch.Tensor, real: np.ndarray) -> dict:
    return torch_fidelity.calculate_metrics(
        input1=Pictures(generated),
        input2=Pictures(torch.from_numpy(np.array(real))),
        feature_extractor="digits",
        feature_extractor_weights_path=str(folder / "extractor.safetensors"),
        isc=True,
        fid=True,
        kid=True,
        prc=True,
        kid_subsets=settings.evaluation.kid_subsets,
        kid_subset_size=settings.evaluation.kid_subset_size,
        prc_neighborhood=settings.evaluation.neighbours,
        batch_size=settings.evaluation.batch,
        cuda=False,
        cache=False,
        save_cpu_ram=True,
        verbose=False,
    )


def test_scores_equal_one_call_of_torch_fidelity(settings, store, trained, ruler, noisy) -> None:
    scores = ruler.score(noisy, ALL)
    whole = through_torch_fidelity(settings, trained.folder, noisy, store.images("train"))
    subset = through_torch_fidelity(settings, trained.folder, noisy, store.images("train")[:600])
    assert list(scores) == ["fid", "is", "kid", "precision", "recall"]
    assert scores["fid"] == pytest.approx(whole["frechet_inception_distance"], rel=1e-6)
    assert scores["is"] == pytest.approx(whole["inception_score_mean"], rel=1e-6)
    assert scores["kid"] == pytest.approx(subset["kernel_inception_distance_mean"], rel=1e-6)
    assert scores["precision"] == subset["precision"]
    assert scores["recall"] == subset["recall"]


def test_fid_equals_an_independent_formula(store, trained, ruler, noisy) -> None:
    classifier = Classifier.load(trained.folder / "extractor.safetensors")
    with torch.no_grad():
        generated = classifier(noisy)[0].double().numpy()
        real = classifier(torch.from_numpy(np.array(store.images("train"))))[0].double().numpy()
    first, second = np.cov(generated, rowvar=False), np.cov(real, rowvar=False)
    # tr (C D)^(1/2) through the symmetric D^(1/2) C D^(1/2), where torch-fidelity takes eigenvalues of C D
    half = scipy.linalg.sqrtm(second).real
    root = np.sqrt(np.clip(np.linalg.eigvalsh(half @ first @ half), 0, None)).sum()
    expected = ((generated.mean(0) - real.mean(0)) ** 2).sum() + np.trace(first) + np.trace(second) - 2 * root
    assert ruler.score(noisy, ("fid",)) == {"fid": pytest.approx(expected, rel=1e-4)}


def test_the_floor_is_the_score_of_held_out_pictures_and_below_that_of_noisy_ones(ruler, store, noisy) -> None:
    floor = ruler.floor(ALL)
    assert floor == ruler.score(torch.from_numpy(np.array(store.images("held_out")[:600])), ALL)
    scores = ruler.score(noisy, ALL)
    assert 0 < floor["fid"] < scores["fid"]
    assert floor["kid"] < scores["kid"]
    assert floor["precision"] > scores["precision"]
    assert 1 <= scores["is"] < floor["is"] <= 10


def test_names_carry_extractor_count_and_iterate(settings, store, trained, cache) -> None:
    more = settings.model_copy(update={"evaluation": EvaluationSettings(samples=2500, metrics=("fid", "is"))})
    ruler = Ruler.open(more, store, trained.folder, cache, CPU)
    assert ruler.metric_name("fid", "ema") == "fid_digits_2500_ema"
    assert ruler.metric_name("precision", "fast", count=700) == "precision_digits_700_fast"
    # there are only 2,000 held-out pictures, and the name says so
    assert ruler.metric_name("fid", "floor") == "fid_digits_2000_floor"
    assert set(ruler.floor(("fid", "is"))) == {"fid", "is"}


def test_the_subset_size_of_kid_is_lowered_where_the_floor_has_fewer_pictures(store, trained, cache) -> None:
    settings = Settings(evaluation=EvaluationSettings(samples=2500, kid_subset_size=2500, kid_subsets=1))
    assert math.isfinite(Ruler.open(settings, store, trained.folder, cache, CPU).floor(("kid",))["kid"])


def test_too_few_pictures_for_a_fid_are_refused_up_front(ruler, noisy) -> None:
    with pytest.raises(UserError, match=r"evaluation\.samples: 64 are too few for a FID on 64 features; at least 65"):
        ruler.score(noisy[:64], ("fid",))
    assert set(ruler.score(noisy[:64], ("is",))) == {"is"}
    assert math.isfinite(ruler.score(noisy[:65], ("fid",))["fid"])


@pytest.mark.parametrize("wrong", [torch.zeros(100, 1, 28, 28), torch.zeros(100, 3, 28, 28, dtype=torch.uint8)])
def test_pictures_of_another_type_or_shape_are_refused(ruler, wrong: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="uint8 pictures of"):
        ruler.score(wrong, ("is",))


def test_a_cached_ruler_gives_the_fresh_ones_numbers_to_the_last_bit(
    settings, store, trained, cache, noisy, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = Ruler.open(settings, store, trained.folder, cache, CPU)
    expected = fresh.score(noisy, ALL), fresh.floor(ALL)
    monkeypatch.setattr("gossipgan.evaluation.ruler.fidelity.fit_gaussian", None)  # a fresh reference needs it
    cached = Ruler.open(settings, store, trained.folder, cache, CPU)
    assert cached.floor(ALL) == expected[1]
    monkeypatch.undo()
    assert cached.score(noisy, ALL) == expected[0]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_damaged_cache_files_are_computed_anew(settings, store, trained, cache, noisy, damage: str) -> None:
    fresh = Ruler.open(settings, store, trained.folder, cache, CPU)
    expected = fresh.score(noisy, ALL), fresh.floor(ALL)
    files = sorted(cache.iterdir())
    assert [file.name.partition("-")[0] for file in files] == ["floor", "reference"]
    whole = [file.read_bytes() for file in files]
    for file, content in zip(files, whole, strict=True):
        middle = len(content) // 2
        other = bytes([content[middle] ^ 1])
        flipped = content[:middle] + other + content[middle + 1 :]
        file.write_bytes({"truncate": content[:middle], "flip": flipped, "empty": b""}[damage])
    again = Ruler.open(settings, store, trained.folder, cache, CPU)
    assert (again.score(noisy, ALL), again.floor(ALL)) == expected
    assert [file.read_bytes() for file in files] == whole


class Counted:
    """A store whose digest, or pictures, are other ones."""

    def __init__(self, store: Store, digest: str, limit: int | None = None) -> None:
        self._store, self.digest, self._limit = store, digest, limit

    def images(self, split: str) -> np.ndarray:
        return self._store.images(split)[: self._limit if split == "train" else None]


def test_each_ingredient_of_the_reference_has_its_own_cache_entry(settings, store, trained, cache) -> None:
    def entries() -> int:
        return len(list(cache.glob("reference-*")))

    def opened(changed: Settings, data: Store | Counted) -> Ruler:
        return Ruler.open(changed, data, trained.folder, cache, CPU)

    opened(settings, store)
    opened(settings, store)
    assert entries() == 1
    opened(settings, Counted(store, "another"))
    assert entries() == 2
    opened(settings, Counted(store, store.digest, limit=2000))
    assert entries() == 3
    samples = settings.evaluation.model_copy(update={"samples": 500})
    opened(settings.model_copy(update={"evaluation": samples}), store)
    assert entries() == 4
    batch = settings.evaluation.model_copy(update={"batch": 100})
    opened(settings.model_copy(update={"evaluation": batch}), store)
    assert entries() == 5
    kid = settings.evaluation.model_copy(update={"kid_subsets": 3})  # not an ingredient of the reference
    opened(settings.model_copy(update={"evaluation": kid}), store)
    assert entries() == 5


def test_other_weights_have_their_own_cache_entry_and_scores(settings, store, trained, cache, tmp_path, noisy) -> None:
    Ruler.open(settings, store, trained.folder, cache, CPU)
    other = Classifier.load(trained.folder / "extractor.safetensors")
    with torch.no_grad():
        other.head.bias[0] += 1
    other.save(tmp_path / "extractor.safetensors")
    (tmp_path / "extractor.json").write_text(json.dumps({"sha256": sha256(tmp_path / "extractor.safetensors")}))
    Ruler.open(settings, store, tmp_path, cache, CPU)
    assert len(list(cache.glob("reference-*"))) == 2


def test_floors_of_other_settings_are_kept_apart(settings, store, trained, cache) -> None:
    for neighbours in (3, 8):
        evaluation = settings.evaluation.model_copy(update={"neighbours": neighbours})
        ruler = Ruler.open(settings.model_copy(update={"evaluation": evaluation}), store, trained.folder, cache, CPU)
        ruler.floor(("prc",))
    first, second = (file.read_text() for file in cache.glob("floor-*"))
    assert first != second


def test_an_extractor_of_other_settings_or_data_is_refused(settings, store, trained, cache) -> None:
    wider = settings.model_copy(update={"extractor": ExtractorSettings(width=64)})
    with pytest.raises(UserError, match="width 64 and 64 features are wanted; run the extractor stage again"):
        Ruler.open(wider, store, trained.folder, cache, CPU)


def test_weights_that_the_summary_does_not_record_are_refused(settings, store, trained, cache, tmp_path) -> None:
    (tmp_path / "extractor.safetensors").write_bytes((trained.folder / "extractor.safetensors").read_bytes())
    with pytest.raises(UserError, match=r"extractor\.json: missing or damaged"):
        Ruler.open(settings, store, tmp_path, cache, CPU)
    (tmp_path / "extractor.json").write_text('{"sha256": "0"}')
    with pytest.raises(UserError, match=r"not the weights that extractor\.json records"):
        Ruler.open(settings, store, tmp_path, cache, CPU)


@pytest.mark.parametrize("name", ["vgg16", "inception"])
def test_a_name_that_belongs_to_another_extractor_is_refused(settings, store, trained, cache, name: str) -> None:
    taken = settings.model_copy(update={"extractor": ExtractorSettings(name=name)})
    with pytest.raises(UserError, match=r"extractor\.name"):
        Ruler.open(taken, store, trained.folder, cache, CPU)


def test_nothing_is_printed(settings, store, trained, cache, noisy, capfd: pytest.CaptureFixture[str]) -> None:
    ruler = Ruler.open(settings, store, trained.folder, cache, CPU)
    ruler.score(noisy, ALL)
    ruler.floor(ALL)
    assert capfd.readouterr() == ("", "")
