"""``gossipgan train`` and ``evaluate``: runs outside DVC, killed at any moment, given wrong things."""

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import BIN, environment, run, wait_until

pytestmark = pytest.mark.system


def _content(path: Path) -> dict[str, bytes]:
    names = ["journal.jsonl", "result.json", "settings.yaml"]
    files = [path / name for name in names] + [*(path / "weights").iterdir(), *(path / "samples").iterdir()]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def _last_step(run_dir: Path) -> int:
    steps = [int(path.name.removeprefix("step-")) for path in (run_dir / "checkpoints").glob("step-*")]
    return max(steps, default=0)


def test_a_run_killed_again_and_again_at_any_point_ends_with_the_same_bytes(reproduced: Path, tmp_path: Path) -> None:
    command = "gossipgan train -e lookahead -S training.steps=300 --seed 5 --out"
    run(f"{command} {tmp_path / 'whole'}", reproduced)
    chance = random.Random(0)
    killed = tmp_path / "killed"
    for least in (20, 90, 160, 230):
        process = subprocess.Popen(
            [BIN / "gossipgan", *command.split()[1:], str(killed)],
            cwd=reproduced,
            env=environment(),
            stdout=subprocess.DEVNULL,
            text=True,
        )
        wait_until(lambda least=least: _last_step(killed) >= least, process)
        time.sleep(chance.uniform(0, 0.15))  # somewhere between or inside a step, a write, a score
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert not (killed / "result.json").exists()
    run(f"{command} {killed}", reproduced)
    assert _content(killed) == _content(tmp_path / "whole")


def test_a_run_outside_dvc_is_the_run_of_the_pipeline(reproduced: Path, tmp_path: Path) -> None:
    run(f"gossipgan train -e lookahead --seed 1 --out {tmp_path / 'run'}", reproduced)
    assert _content(tmp_path / "run") == _content(reproduced / "runs/lookahead/seed-1")
    scores = json.loads(run(f"gossipgan evaluate {tmp_path / 'run'} --json", reproduced).stdout)
    assert scores == json.loads((reproduced / "metrics/lookahead/seed-1.json").read_text())


def test_ctrl_c_ends_in_one_line_and_the_run_goes_on_later(reproduced: Path, tmp_path: Path) -> None:
    command = [BIN / "gossipgan", "train", "-e", "baseline", "-S", "training.steps=5000", "--out", tmp_path / "run"]
    process = subprocess.Popen(
        command,
        cwd=reproduced,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: _last_step(tmp_path / "run"), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.startswith("gossipgan: interrupted")
    assert errors.count("\n") == 1


def test_divergence_is_a_result_and_an_error_only_where_asked(reproduced: Path, tmp_path: Path) -> None:
    wild = "-S optimizer.generator.lr=10 -S optimizer.discriminator.lr=10 -S game.discriminator_norm=none"
    wild += " -S game.loss=hinge -S training.steps=3000 -S training.divergence_window=20"
    done = run(f"gossipgan train -e baseline {wild} --out {tmp_path / 'run'}", reproduced)
    assert "diverged after" in done.stdout
    assert "reason: " in done.stdout
    run(f"gossipgan train -e baseline {wild} --out {tmp_path / 'run'} --fail-on-divergence", reproduced, status=1)


def test_another_run_in_the_directory_is_refused_unless_overwritten(reproduced: Path, tmp_path: Path) -> None:
    out = f"--out {tmp_path / 'run'} -S training.steps=5"
    run(f"gossipgan train -e baseline {out}", reproduced)
    done = run(f"gossipgan train -e lookahead {out}", reproduced, status=2)
    assert "holds another run" in done.stderr
    run(f"gossipgan train -e lookahead {out} --overwrite", reproduced)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious").touch()
    run(f"gossipgan train -e baseline --out {tmp_path / 'other'} --overwrite", reproduced, status=2)
    assert (tmp_path / "other" / "precious").exists()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("gossipgan train -e lookahaed", "did you mean 'lookahead'?"),
        ("gossipgan train -S training.step=3", "did you mean 'steps'?"),
        ("gossipgan train -S training.steps=many", "training.steps"),
        ("gossipgan train -S training.device=cuda:99", "GPUs found; use auto or cpu"),
        ("gossipgan train -S data.size=64", "prepared with"),
        ("gossipgan train --data nowhere", "not a prepared store"),
        ("gossipgan train --extractor nowhere", "nowhere"),
        ("gossipgan train --params nowhere.yaml", "no such file"),
        ("gossipgan evaluate nowhere", "not a run directory"),
        ("gossipgan evaluate work", "not a run directory"),
        ("gossipgan verify --seed 99", "there is no 99"),
        ("gossipgan train -S extractor.kind=inception -S extractor.weights=nowhere.pth", "nowhere.pth"),
    ],
)
def test_a_mistake_gets_one_line_and_status_2(command: str, says: str, reproduced: Path) -> None:
    done = run(command, reproduced, status=2)
    assert done.stderr.startswith("gossipgan: error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert not (reproduced / "trained").exists()


def test_a_corrupted_store_is_named_and_nothing_is_trained(project: Path) -> None:
    path = project / "data/prepared/train-images.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.unlink()
    path.write_bytes(content)
    done = run("gossipgan train -e baseline", project, status=2)
    assert "train-images.npy" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (project / "trained").exists()
