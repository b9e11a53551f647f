"""The same loop on a GPU, where there is one."""

import io
import shutil
from pathlib import Path

import pytest
import torch
from rich.console import Console

from gossipgan.data import Store
from gossipgan.evaluation import Ruler, train_extractor
from gossipgan.runs import RunDirectory
from gossipgan.training import choose_device, train

from .conftest import small

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


def test_a_run_on_a_gpu_ends_well_and_resumes_from_its_checkpoint(tmp_path: Path, store: Store) -> None:
    settings = small(training={"device": "cuda"}, lookahead={"kind": "joint", "k": 4})
    train_extractor(settings.extractor, store, tmp_path / "extractor", 1)
    device = choose_device("cuda")
    ruler = Ruler.open(settings, store, tmp_path / "extractor", tmp_path / "cache", device)
    console = Console(file=io.StringIO())
    whole = RunDirectory(tmp_path / "whole")
    result = train(whole, settings, 1, store, ruler, experiment="test", console=console)
    assert result["outcome"] == "ok"
    shutil.copytree(whole.path, tmp_path / "resumed")
    resumed = RunDirectory(tmp_path / "resumed")
    resumed.result.unlink()
    shutil.rmtree(resumed.checkpoints / "step-00000020")
    again = train(resumed, settings, 1, store, ruler, experiment="test", console=console)
    assert again["weights"] == result["weights"]
    assert resumed.journal.read_bytes() == whole.journal.read_bytes()
