"""Runs made ahead of the pipeline are taken over only where its stages would make the same."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gossipgan.errors import UserError
from gossipgan.runs import RunDirectory, alone, mark_ahead, read_ahead

SCORES = {"outcome": "ok", "fid_digits_2000_ema": 9.5}


@pytest.fixture
def extractor(tmp_path: Path) -> Path:
    folder = tmp_path / "extractor"
    folder.mkdir()
    (folder / "extractor.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def run(tmp_path: Path, extractor: Path) -> RunDirectory:
    made = RunDirectory(tmp_path / "run")
    made.path.mkdir()
    made.result.write_text('{"outcome": "ok"}')
    mark_ahead(made, extractor, SCORES)
    return made


def test_scores_are_found_again(run: RunDirectory, extractor: Path) -> None:
    assert read_ahead(run, extractor) == SCORES


def _other_result(run: RunDirectory, extractor: Path) -> None:
    run.result.write_text('{"outcome": "diverged"}')


def _no_result(run: RunDirectory, extractor: Path) -> None:
    run.result.unlink()


def _other_extractor(run: RunDirectory, extractor: Path) -> None:
    (extractor / "extractor.safetensors").write_bytes(b"others")


def _one_more_file(run: RunDirectory, extractor: Path) -> None:
    (extractor / "extractor.json").write_text("{}")


def _no_extractor(run: RunDirectory, extractor: Path) -> None:
    (extractor / "extractor.safetensors").unlink()
    extractor.rmdir()


def _other_code(run: RunDirectory, extractor: Path) -> None:
    content = json.loads(run.ahead.read_text())
    content["made_with"]["code"] = "0" * 64
    run.ahead.write_text(json.dumps(content))


def _taken(run: RunDirectory, extractor: Path) -> None:
    run.ahead.unlink()


@pytest.mark.parametrize(
    "change", [_other_result, _no_result, _other_extractor, _one_more_file, _no_extractor, _other_code, _taken]
)
def test_nothing_is_taken_over_that_might_come_out_differently(
    run: RunDirectory, extractor: Path, change: Callable[[RunDirectory, Path], None]
) -> None:
    change(run, extractor)
    assert read_ahead(run, extractor) is None


def test_a_second_process_in_a_folder_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    with alone(folder, "gossipgan repro"):  # noqa: SIM117
        with pytest.raises(UserError, match=f"^{folder}: another gossipgan repro is at work here; wait for its end$"):
            with alone(folder, "gossipgan repro"):
                raise AssertionError("was let in")
    with alone(folder, "gossipgan repro"):
        pass
