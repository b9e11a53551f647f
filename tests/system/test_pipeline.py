"""``dvc repro`` and what stands on it, from outside."""

import compileall
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from mlflow import MlflowClient
from PIL import Image

from .conftest import edit_params, environment, make_project, run, wait_until

pytestmark = pytest.mark.system


def _ran(output: str) -> set[str]:
    """Stages that DVC ran, by its output."""
    return set(re.findall(r"Running stage '([^']+)'", output))


def _results(folder: Path) -> dict[str, bytes]:
    """Every file that DVC or git keeps of a project's results."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for top in ("runs", "metrics", "reports", "data", "extractor")
        for path in (folder / top).rglob("*")
        if path.is_file()
    }


def test_repro_leaves_scores_weights_samples_and_a_report(reproduced: Path) -> None:
    for experiment in ("baseline", "lookahead"):
        scores = json.loads((reproduced / f"metrics/{experiment}/seed-1.json").read_text())
        assert scores["outcome"] == "ok"
        iterates = {"fast", "ema"} | ({"slow"} if experiment == "lookahead" else set())
        for metric in ("fid", "is", "kid", "precision", "recall"):
            names = {f"{metric}_digits_200_{iterate}" for iterate in (*iterates, "floor")}
            assert names == {name for name in scores if name.startswith(f"{metric}_")}
        assert scores["fid_digits_200_floor"] < scores["fid_digits_200_ema"]
        grid = Image.open(reproduced / f"runs/{experiment}/seed-1/samples/step-00000060.png")
        assert grid.size == (8 * 28, 8 * 28)
    page = (reproduced / "reports/comparison.html").read_text()
    assert "lookahead" in page
    assert not re.search(r"""(src|href)=["']https?:""", page)


def test_nothing_that_dvc_keeps_holds_a_time_a_path_or_a_host(
    reproduced: Path, empty_store: Path, tmp_path: Path
) -> None:
    again = make_project(tmp_path / "again")
    shutil.copy(empty_store, again / "mlflow.db")
    run("dvc repro", again)
    first, second = _results(reproduced), _results(again)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert (again / "dvc.lock").read_bytes() == (reproduced / "dvc.lock").read_bytes()


def test_a_second_repro_runs_nothing_even_after_the_code_was_byte_compiled(project: Path) -> None:
    compileall.compile_dir(project / "src", quiet=1)
    done = run("dvc repro", project)
    assert _ran(done.stdout) == set()
    assert "up to date" in done.stdout


def test_dvcs_own_views_of_params_metrics_and_plots_work(project: Path) -> None:
    shown = json.loads(run("dvc metrics show --json", project).stdout)
    files = shown[""]["data"]
    assert files["metrics/baseline/seed-1.json"]["data"]["outcome"] == "ok"
    assert "reports/comparison.json" in files
    edit_params(project, {"training.steps": 61})
    assert "training.steps" in run("dvc params diff", project).stdout
    run("dvc plots show", project)
    plots = (project / "dvc_plots/index.html").read_text()
    for part in ("loss of G", "losses and scores by step", "step-00000060.png"):
        assert part in plots
    for column in ("experiment", "seed", "metric"):  # what the curves are told apart by
        assert f'"{column}"' in plots


def test_dvc_exp_run_tries_a_setting(project: Path) -> None:
    before = json.loads((project / "metrics/lookahead/seed-1.json").read_text())
    done = run("dvc exp run -S experiments.lookahead.lookahead.k=7", project)
    assert _ran(done.stdout) == {"train@lookahead-1", "evaluate@lookahead-1", "compare"}
    assert json.loads((project / "metrics/lookahead/seed-1.json").read_text()) != before


def test_a_train_stage_killed_in_mid_run_goes_on_and_ends_the_same(project: Path, tmp_path: Path) -> None:
    edit_params(project, {"training.steps": 300})
    shutil.rmtree(project / "work")
    (tmp_path / "copy").mkdir()
    whole = tmp_path / "copy" / "project"
    shutil.copytree(project, whole, symlinks=True)
    run("dvc repro train@lookahead-1", whole)

    process = subprocess.Popen(
        ["dvc", "repro", "train@lookahead-1"],
        cwd=project,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    checkpoints = "work/lookahead/seed-1/*/checkpoints/step-000000[5-9]0"
    wait_until(lambda: list(project.glob(checkpoints)), process)
    killed = {path for path in project.glob("work/lookahead/seed-1/*") if not (path / "result.json").exists()}
    assert len(killed) == 1
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL

    done = run("dvc repro train@lookahead-1", project)
    assert _ran(done.stdout) == {"train@lookahead-1"}
    clock = next(iter(killed)) / "clock.jsonl"
    steps = [json.loads(line)["step"] for line in clock.read_text().splitlines()]
    assert steps == sorted(set(steps))
    for name in ("journal.jsonl", "result.json", "weights/generator-fast.safetensors", "losses.csv"):
        path = Path("runs/lookahead/seed-1") / name
        assert (project / path).read_bytes() == (whole / path).read_bytes(), name


def test_mlflow_shows_each_run_with_its_curves_and_can_be_filled_again(project: Path, empty_store: Path) -> None:
    assert "0 runs written, 2 already there" in run("gossipgan mlflow sync", project).stdout  # by the pipeline
    shutil.copy(empty_store, project / "mlflow.db")
    assert "2 runs written" in run("gossipgan mlflow sync", project).stdout
    assert "0 runs written, 2 already there" in run("gossipgan mlflow sync", project).stdout
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("gossipgan")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    children = [r for r in runs if "mlflow.parentRunId" in r.data.tags]
    assert len(children) == 2
    assert len(runs) == 3
    for child in children:
        name = child.data.tags["gossipgan.experiment"]
        scores = json.loads((project / f"metrics/{name}/seed-1.json").read_text())
        journal = [json.loads(line) for line in (project / f"runs/{name}/seed-1/journal.jsonl").open()]
        losses = {e["step"]: e["loss_d"] for e in journal if e["event"] == "losses"}
        history = client.get_metric_history(child.info.run_id, "loss_d")
        assert {m.step: m.value for m in history} == losses
        assert child.info.status == "FINISHED"
        assert child.data.metrics["fid_digits_200_ema"] == pytest.approx(scores["fid_digits_200_ema"])


def test_changing_one_experiments_override_runs_that_experiment_alone_and_needs_no_server_of_mlflows(
    project: Path,
) -> None:
    edit_params(project, {"experiments.lookahead.lookahead.alpha": 0.7, "tracking.uri": "http://127.0.0.1:9"})
    done = run("dvc repro", project)
    assert _ran(done.stdout) == {"train@lookahead-1", "evaluate@lookahead-1", "compare"}
    assert "warning" in done.stdout
    assert "gossipgan mlflow sync" in done.stdout
    assert "0.7" in (project / "reports/comparison.html").read_text()


def test_verify_reproduces_the_record_bit_for_bit(project: Path) -> None:
    path = project / "reports/comparison.json"
    record = json.loads(path.read_text())
    record["environment"]["python"] = "3.11.0"  # no arithmetic is the interpreter's
    path.write_text(json.dumps(record))
    done = run("gossipgan verify", project)
    assert "baseline seed 1: " in done.stdout
    assert "equal to the last bit" in done.stdout
    assert done.stdout.strip().endswith("reproduced")


def test_verify_says_what_differs(project: Path) -> None:
    path = project / "metrics/baseline/seed-1.json"
    scores = json.loads(path.read_text())
    path.write_text(json.dumps({**scores, "fid_digits_200_ema": scores["fid_digits_200_ema"] + 1e-9}))
    done = run("gossipgan verify -e baseline", project, status=1)
    assert "fid_digits_200_ema: recorded" in done.stdout
    assert done.stdout.strip().endswith("not reproduced")


def test_verify_on_another_machine_wants_a_tolerance(project: Path) -> None:
    path = project / "reports/comparison.json"
    record = json.loads(path.read_text())
    record["environment"]["processor"] = "Another One"
    path.write_text(json.dumps(record))
    done = run("gossipgan verify -e baseline", project, status=1)
    assert "processor: recorded Another One" in done.stdout
    assert "--tolerance" in done.stdout
    done = run("gossipgan verify -e baseline --tolerance 0.1", project)
    assert "metrics within 0.1" in done.stdout


def test_verify_before_anything_is_recorded_says_so(tmp_path: Path) -> None:
    fresh = make_project(tmp_path / "fresh")
    done = run("gossipgan verify", fresh, status=2)
    assert done.stderr.count("\n") == 1
    assert "run dvc repro first" in done.stderr
