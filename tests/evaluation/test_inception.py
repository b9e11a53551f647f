import json
from pathlib import Path

import pytest
import torch
from torch_fidelity import FeatureExtractorInceptionV3

from gossipgan.config import EvaluationSettings, ExtractorSettings, Settings
from gossipgan.errors import UserError
from gossipgan.evaluation import Extractor, Ruler, train_extractor
from gossipgan.runs import sha256

CPU = torch.device("cpu")
GREY = (1, 28, 28)


class Untrained(FeatureExtractorInceptionV3):
    """The network with its initial weights."""

    def load_state_dict(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inception")
    torch.save({}, folder / "nothing.pth")
    torch.manual_seed(0)
    network = Untrained("inception-v3-compat", ["2048"], feature_extractor_weights_path=folder / "nothing.pth")
    torch.save(network.state_dict(), folder / "weights.pth")
    return folder / "weights.pth"


def chosen(weights: Path | None, **more: str) -> ExtractorSettings:
    return ExtractorSettings(kind="inception", weights=None if weights is None else str(weights), **more)


def test_features_are_those_of_torch_fidelity_on_grey_repeated_to_three_channels(weights, tmp_path) -> None:
    extractor = Extractor.open(chosen(weights, sha256=sha256(weights)), GREY, tmp_path, CPU)
    grey = torch.randint(0, 256, (3, *GREY), dtype=torch.uint8)
    theirs = FeatureExtractorInceptionV3(
        "inception-v3-compat", ["2048", "logits_unbiased"], feature_extractor_weights_path=str(weights)
    )
    features, logits = theirs(grey.repeat(1, 3, 1, 1))
    found = extractor(grey, batch=3)
    assert extractor.name == "inception"
    assert found.features.shape == (3, extractor.length) == (3, 2048)
    assert found.features.dtype == torch.float32
    torch.testing.assert_close(found.features, features)
    torch.testing.assert_close(found.logits, logits)


def test_the_stage_records_the_hash_of_the_weights(weights, store, tmp_path) -> None:
    summary = train_extractor(chosen(weights), store, tmp_path, threads=1)
    assert summary == {"kind": "inception", "name": "inception", "sha256": sha256(weights)}
    assert json.loads((tmp_path / "extractor.json").read_text()) == summary


def test_too_few_pictures_for_2048_features_are_refused_before_anything_is_extracted(weights, store, tmp_path) -> None:
    settings = Settings(extractor=chosen(weights), evaluation=EvaluationSettings(samples=2000))
    with pytest.raises(UserError, match=r"evaluation\.samples: 2000 are too few for a FID on 2048 features"):
        Ruler.open(settings, store, tmp_path, tmp_path / "cache", CPU)
    assert not (tmp_path / "cache").exists()


def test_weights_of_another_hash_are_refused(weights, tmp_path) -> None:
    with pytest.raises(UserError, match=r"extractor\.sha256: .* hashes to"):
        Extractor.open(chosen(weights, sha256="0" * 64), GREY, tmp_path, CPU)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(UserError, match=r"extractor\.weights: .*none\.pth: no such file"):
        Extractor.open(chosen(tmp_path / "none.pth"), GREY, tmp_path, CPU)


class Harmful:
    """Pickled, it would make a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("content", ["text", "incomplete", "harmful"])
def test_a_file_that_holds_something_else_is_refused_and_not_run(content: str, tmp_path) -> None:
    path = tmp_path / "weights.pth"
    if content == "text":
        path.write_text("not weights")
    elif content == "incomplete":
        torch.save({"fc.weight": torch.zeros(1008, 2048)}, path)
    else:
        torch.save({"fc.weight": Harmful(tmp_path / "harm")}, path)
    with pytest.raises(UserError, match="does not hold the weights of inception-v3-compat"):
        Extractor.open(chosen(path), GREY, tmp_path, CPU)
    assert not (tmp_path / "harm").exists()


def test_without_a_network_one_line_names_the_remedy(store, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(
        "torch_fidelity.feature_extractor_inceptionv3.URL_INCEPTION_V3",
        "http://127.0.0.1:9/weights-inception-2015-12-05-6726825d.pth",  # nobody listens on the discard port
    )
    with pytest.raises(UserError, match=r"extractor\.weights: .* could not be downloaded") as caught:
        train_extractor(chosen(None), store, tmp_path / "extractor", threads=1)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "extractor").exists()
