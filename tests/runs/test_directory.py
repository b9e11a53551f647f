"""A run directory says what its run is and what it came to."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gossipgan.config import Settings, fingerprint
from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory

CHANGED: dict[str, Any] = {
    "data": {"path": "a: folder # with 'marks'", "limit": 10},
    "optimizer": {"generator": {"lr": 1e-7, "eps": 1e-12}},
    "lookahead": {"kind": "joint", "alpha": 0.1 + 0.2},
    "averaging": {"ema_half_life": None, "ema_decay": 0.999},
    "evaluation": {"metrics": ["fid"], "iterates": ["slow", "ema"]},
}


@pytest.mark.parametrize("content", [{}, CHANGED], ids=["defaults", "changed"])
def test_settings_read_back_as_they_were(tmp_path: Path, content: dict[str, Any]) -> None:
    settings = Settings.model_validate(content)
    run = RunDirectory(tmp_path / "run")

    run.write_settings(settings, seed=3, data_digest="d1", experiment="lookahead")

    assert run.read_settings() == (
        settings,
        {
            "experiment": "lookahead",
            "seed": 3,
            "data_digest": "d1",
            "fingerprint": fingerprint(settings, 3, "d1"),
        },
    )


# A write waits for the disk: no deadline.
@hypothesis_settings(deadline=None, max_examples=30)
@given(lr=st.floats(min_value=0.0, max_value=10.0, exclude_min=True))
def test_every_rate_reads_back_to_the_last_bit(tmp_path_factory: pytest.TempPathFactory, lr: float) -> None:
    settings = Settings.model_validate({"optimizer": {"generator": {"lr": lr}}})
    run = RunDirectory(tmp_path_factory.mktemp("run"))

    run.write_settings(settings, seed=1, data_digest="d", experiment="a")

    assert run.read_settings()[0].optimizer.generator.lr == lr


def test_a_name_that_looks_like_a_number_stays_a_name(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)

    run.write_settings(Settings(), seed=1, data_digest="1e5", experiment="0123")

    identity = run.read_settings()[1]
    assert (identity["experiment"], identity["data_digest"]) == ("0123", "1e5")


def test_the_same_run_is_recorded_in_the_same_bytes(tmp_path: Path) -> None:
    runs = [RunDirectory(tmp_path / name) for name in "ab"]

    for run in runs:
        run.write_settings(Settings(), seed=1, data_digest="d", experiment="a")

    assert runs[0].settings.read_bytes() == runs[1].settings.read_bytes()


def test_a_result_holds_the_hash_of_every_weights_file(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.weights.mkdir()
    contents = {"generator-ema": b"1", "generator-fast": b"2", "discriminator": b"3"}
    for stem, content in contents.items():
        (run.weights / f"{stem}.safetensors").write_bytes(content)
    assert run.generator("ema").read_bytes() == b"1"

    run.write_result(outcome="ok", steps=10)

    expected = {stem: hashlib.sha256(content).hexdigest() for stem, content in contents.items()}
    assert run.read_result() == {"outcome": "ok", "steps": 10, "weights": expected}
    assert json.loads(run.result.read_text()) == run.read_result()


def test_a_folder_that_holds_no_run_and_a_run_that_has_not_ended_are_refused_by_name(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)

    with pytest.raises(UserError, match=rf"{tmp_path}: not a run directory"):
        run.read_settings()
    with pytest.raises(UserError, match=rf"{tmp_path}: this run has not ended"):
        run.read_result()
