"""``gossipgan repro``: what ``dvc repro`` gives, with runs made several at a time."""

from pathlib import Path

from .conftest import edit_params, make_project, run


def test_runs_made_ahead_are_those_that_dvcs_stages_make_themselves(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    edit_params(project, {"tracking.mlflow": False})
    first = run("gossipgan repro --workers 2", project).stdout
    # Both were trained before the stages, which took them over without a step of their own.
    assert "step " not in first
    assert {"baseline seed 1: ok after 60 steps", "lookahead seed 1: ok after 60 steps"} <= set(first.splitlines())
    assert not list(project.glob("work/*/seed-1/*/ahead.json"))
    assert not list(project.glob("work/*/seed-1/*.scores.json"))

    second = run("gossipgan repro", project).stdout
    assert "Running stage" not in second

    metrics = project / "metrics" / "lookahead" / "seed-1.json"
    ahead, lock = metrics.read_bytes(), (project / "dvc.lock").read_bytes()
    by_itself = run("dvc repro --force --single-item train@lookahead-1 evaluate@lookahead-1", project).stdout
    assert "step 60/60" in by_itself
    assert metrics.read_bytes() == ahead
    assert (project / "dvc.lock").read_bytes() == lock  # the hashes of settings, journal, samples, weights and result


def test_another_params_file_than_the_pipelines_is_refused(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("experiments: {baseline: {}}\n")
    refused = run("gossipgan repro", tmp_path, status=2).stderr
    assert refused == "gossipgan: error: params.yaml: the pipeline's params.yaml is wanted, beside its dvc.yaml\n"


def test_devices_that_are_no_numbers_are_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("experiments: {baseline: {}}\n")
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    refused = run("gossipgan repro --devices first", tmp_path, status=2)
    assert refused.stderr == "gossipgan: error: --devices first: numbers of GPUs are wanted, such as 0,1\n"
    assert refused.stdout == ""
