"""``gossipgan spectrum``: on a tiny run that was really trained."""

import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console
from ruamel.yaml import YAML
from safetensors.torch import load_file, save_file

from gossipgan.config import load_params
from gossipgan.data import Store, prepare
from gossipgan.evaluation import Ruler, end_of_training, game_spectrum, train_extractor
from gossipgan.runs import Project, RunDirectory, publish
from gossipgan.training import set_up_device, train

Gossipgan = Callable[..., Any]

PARAMS = {
    "data": {"limit": 200, "held_out": 100},
    "extractor": {"width": 4, "features": 8, "epochs": 1},
    "game": {"width": 4, "latent": 2},
    "training": {"steps": 3, "batch": 8, "threads": 1},
    "evaluation": {"samples": 100, "kid_subset_size": 50, "metrics": ["fid"], "iterates": ["fast"], "headline": "fast"},
}
QUICKLY = ("--top", "2", "--pictures", "8")


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """No store of the person who runs the tests, and what the code sets is taken back."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one run, published to ``runs/``. Tests must not change it: see ``project``."""
    root = tmp_path_factory.mktemp("trained") / "project"
    root.mkdir()
    _write_params(root, {})
    settings = load_params(root / "params.yaml").settings("baseline")
    project = Project(root)
    prepare(settings.data, project.prepared)
    store = Store.open(project.prepared)
    train_extractor(settings.extractor, store, project.extractor, threads=1)
    ruler = Ruler.open(settings, store, project.extractor, project.cache, set_up_device(settings.training))
    live = RunDirectory(root / "work")
    train(live, settings, 1, store, ruler, experiment="baseline", console=Console(quiet=True))
    publish(live, project.run("baseline", 1))
    return root


@pytest.fixture
def project(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to change; the current folder."""
    shutil.copytree(trained, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def _write_params(root: Path, tracking: dict[str, Any]) -> None:
    content = {**PARAMS, "tracking": {"mlflow": False, **tracking}, "seeds": [1], "experiments": {"baseline": {}}}
    YAML().dump(content, root / "params.yaml")


def _mlflow_runs(root: Path) -> list[Any]:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{root}/mlflow.db")
    experiment = client.get_experiment_by_name("gossipgan")
    runs = client.search_runs([experiment.experiment_id], "tags.`gossipgan.role` = 'run'")
    artifacts = [{file.path for file in client.list_artifacts(run.info.run_id)} for run in runs]
    return list(zip(runs, artifacts, strict=True))


RUN = "runs/baseline/seed-1"


def test_it_prints_and_writes_what_the_library_finds_and_leaves_the_run_as_it_was(
    gossipgan: Gossipgan, project: Path
) -> None:
    run = RunDirectory(project / RUN)
    files = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}

    shown = gossipgan("spectrum", RUN, *QUICKLY, "--plot", "pictures/mine.png")

    assert {path: path.read_bytes() for path in files} == files
    assert {path for path in run.path.rglob("*") if path.is_file()} - set(files) == {run.spectrum, run.spectrum_plot}
    point = end_of_training(run, Store.open(project / "data/prepared"), pictures=8, device=torch.device("cpu"))
    expected = game_spectrum(point.game, point.batch, top=2)
    written = json.loads(run.spectrum.read_text())
    assert (shown.status, shown.err) == (0, "")
    assert {key: written[key] for key in expected.as_json()} == expected.as_json()
    assert (written["step"], written["iterate"], written["pictures"], written["top"]) == (3, "fast", 8, 2)
    assert written["fingerprint"] == run.read_settings()[1]["fingerprint"]
    assert "baseline seed 1, step 3, fast weights of G; losses on 8 pictures" in shown.out
    assert f"largest:            {expected.generator.largest.values[0]:.4g}  " in shown.out
    assert f"of {len(expected.jvf.found)} eigenvalues of the JVF {expected.jvf.rotating} rotate" in shown.out
    assert run.spectrum_plot.read_bytes() == Path("pictures/mine.png").read_bytes()
    with Image.open(run.spectrum_plot) as picture:
        assert picture.format == "PNG"
    assert not (project / "mlflow.db").exists()
    before = run.spectrum.read_bytes(), run.spectrum_plot.read_bytes()

    as_json = gossipgan("spectrum", RUN, *QUICKLY, "--json")

    assert json.loads(as_json.out) == written
    assert (run.spectrum.read_bytes(), run.spectrum_plot.read_bytes()) == before


def test_mlflow_shows_it_once_however_often_it_is_synced(gossipgan: Gossipgan, project: Path) -> None:
    _write_params(project, {"mlflow": True})

    shown = gossipgan("spectrum", RUN, *QUICKLY)
    gossipgan("spectrum", RUN, *QUICKLY)

    summary = json.loads((project / RUN / "spectrum.json").read_text())["summary"]
    assert shown.status == 0
    assert "warning" not in shown.err
    ((run, artifacts),) = _mlflow_runs(project)
    assert run.data.metrics["spectrum/jvf_radius"] == summary["jvf_radius"]
    assert run.data.metrics["spectrum/generator_smallest"] == summary["generator_smallest"]
    assert artifacts >= {"spectrum.json", "spectrum.png", "journal.jsonl"}


def test_a_run_outside_the_pipeline_is_shown_too_unless_the_pipeline_has_the_same(
    gossipgan: Gossipgan, project: Path
) -> None:
    _write_params(project, {"mlflow": True})
    shutil.copytree(project / RUN, project / "trained")

    twin = gossipgan("spectrum", "trained", *QUICKLY)
    assert twin.status == 0
    assert f"which shows this run from {project / RUN}" in twin.err
    assert (project / "trained" / "spectrum.json").exists()
    assert not (project / "mlflow.db").exists()

    shutil.rmtree(project / "runs")
    alone = gossipgan("spectrum", "trained", *QUICKLY)
    assert alone.status == 0
    assert "warning" not in alone.err
    ((run, artifacts),) = _mlflow_runs(project)
    assert "spectrum/jvf_radius" in run.data.metrics
    assert "spectrum.png" in artifacts


def test_mlflow_that_is_away_costs_a_warning_and_nothing_else(gossipgan: Gossipgan, project: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    _write_params(project, {"mlflow": True, "uri": f"http://127.0.0.1:{port}"})

    shown = gossipgan("spectrum", RUN, *QUICKLY, "--json")

    assert shown.status == 0
    assert json.loads(shown.out) == json.loads((project / RUN / "spectrum.json").read_text())
    assert shown.err.startswith(f"warning: MLflow at http://127.0.0.1:{port}: not written")
    assert shown.err.count("\n") == 1


def test_without_a_params_file_the_store_is_named(gossipgan: Gossipgan, project: Path) -> None:
    (project / "params.yaml").unlink()
    shutil.move(project / "data/prepared", project / "elsewhere")

    assert gossipgan("spectrum", RUN, *QUICKLY, "--data", "elsewhere").status == 0
    assert "not a prepared store" in gossipgan("spectrum", RUN, *QUICKLY).err


def test_a_mistake_is_one_line_and_leaves_nothing_behind(gossipgan: Gossipgan, project: Path) -> None:
    def refused(*arguments: str) -> str:
        shown = gossipgan("spectrum", *arguments)
        assert (shown.status, shown.out) == (2, "")
        assert shown.err.startswith("gossipgan: error: ")
        assert shown.err.count("\n") == 1
        assert not list(project.rglob("spectrum.*"))
        return str(shown.err)

    assert "--top 0: must be from 1 to 100" in refused(RUN, "--top", "0")
    assert "--top 101: must be from 1 to 100" in refused(RUN, "--top", "101")
    assert "--pictures 201: must be from 2 to the 200" in refused(RUN, "--pictures", "201")
    assert "--plot a.pdf: must end in .png" in refused(RUN, "--plot", "a.pdf")
    assert "not a run directory" in refused("runs")
    assert "not a run directory" in refused("nowhere")
    assert "not a prepared store" in refused(RUN, "--data", "runs")

    other = np.zeros((20, 28, 28), np.uint8)
    np.savez(project / "other.npz", images=other + np.arange(20, dtype=np.uint8)[:, None, None])
    (project / "other.yaml").write_text("data: {source: npz, path: other.npz}")
    assert gossipgan("prepare", "--params", "other.yaml", "--out", "other").status == 0
    assert "was trained on other data" in refused(RUN, "--data", "other")

    run = RunDirectory(project / RUN)
    result = run.read_result()
    state = {name: tensor * torch.nan for name, tensor in load_file(run.generator("fast")).items()}
    save_file(state, run.generator("fast"))
    del result["weights"]
    run.write_result(**{**result, "outcome": "diverged"})
    assert "the run has diverged" in refused(RUN)
    shutil.rmtree(run.weights)
    assert "diverged and left no weights" in refused(RUN)
    run.result.unlink()
    assert "has not ended" in refused(RUN)


def test_a_plot_that_cannot_be_written_is_one_line(gossipgan: Gossipgan, project: Path) -> None:
    (project / "file").write_text("")

    shown = gossipgan("spectrum", RUN, *QUICKLY, "--plot", "file/out.png")

    assert shown.status == 2
    assert "--plot file/out.png: cannot be written" in shown.err
