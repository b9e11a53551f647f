"""``gossipgan config``, and what holds for every command."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from gossipgan import __version__
from gossipgan.config import Settings, load_params

COMMAND = [sys.executable, "-c", "from gossipgan.cli import main; main()"]

Gossipgan = Callable[..., Any]

TEXT = """
optimizer: {generator: {lr: 1e-7}}
training: {steps: 7}
experiments:
  adam:
  joint: {lookahead: {kind: joint, k: 8}}
"""


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A params.yaml in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "params.yaml"
    path.write_text(TEXT)
    return path


@pytest.mark.usefixtures("params")
def test_show_prints_the_resolved_settings_as_yaml_that_reads_back(gossipgan: Gossipgan) -> None:
    expected = Settings.model_validate(
        {
            "optimizer": {"generator": {"lr": 1e-7}},
            "training": {"steps": 9},
            "lookahead": {"kind": "joint", "k": 8},
            "evaluation": {"metrics": ["fid"]},
        }
    )

    shown = gossipgan("config", "show", "-e", "joint", "-S", "training.steps=9", "--set", "evaluation.metrics=[fid]")

    assert (shown.status, shown.err) == (0, "")
    assert Settings.model_validate(YAML(typ="safe", pure=True).load(shown.out)) == expected
    assert list(YAML(typ="safe", pure=True).load(shown.out)) == list(Settings.model_fields)


@pytest.mark.usefixtures("params")
def test_show_prints_the_same_as_json(gossipgan: Gossipgan) -> None:
    as_yaml, as_json = gossipgan("config", "show"), gossipgan("config", "show", "--json")

    assert json.loads(as_json.out) == YAML(typ="safe", pure=True).load(as_yaml.out)


def test_show_reads_the_file_that_is_named(gossipgan: Gossipgan, params: Path) -> None:
    other = params.with_name("other.yaml")
    other.write_text("training: {steps: 11}")

    shown = gossipgan("config", "show", "--json", "--params", str(other))

    assert json.loads(shown.out)["training"]["steps"] == 11


@pytest.mark.usefixtures("params")
def test_what_show_prints_is_a_params_file_of_its_own(gossipgan: Gossipgan, tmp_path: Path) -> None:
    printed = tmp_path / "printed.yaml"
    printed.write_text(gossipgan("config", "show", "-e", "joint").out)

    assert load_params(printed).settings() == load_params(tmp_path / "params.yaml").settings("joint")


@pytest.mark.usefixtures("params")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-e", "joitn"], "'joitn'; there are adam, joint; did you mean 'joint'?"),
        (["-S", "training.stps=3"], "did you mean 'steps'?"),
        (["-S", "training.steps"], "dotted.key=value"),
        (["-S", "training.steps=a\n b"], "training.steps: input should be a valid integer"),
        (["--params", "elsewhere.yaml"], "elsewhere.yaml: no such file"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_status_2(gossipgan: Gossipgan, arguments: list[str], named: str) -> None:
    refused = gossipgan("config", "show", *arguments)

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith("gossipgan: error: ")
    assert refused.err.count("\n") == 1
    assert named in refused.err


@pytest.mark.parametrize(
    "arguments", [["config", "show", "--ful"], ["config", "shw"], ["confg"], ["config", "show", "-S"]]
)
def test_a_mistake_in_a_command_is_told_in_short_with_status_2(gossipgan: Gossipgan, arguments: list[str]) -> None:
    refused = gossipgan(*arguments)

    assert (refused.status, refused.out) == (2, "")
    assert "Error: " in refused.err
    assert "Traceback" not in refused.err
    assert refused.err.count("\n") <= 4


def test_schema_prints_a_json_schema_that_knows_every_section(gossipgan: Gossipgan) -> None:
    schema = json.loads(gossipgan("config", "schema").out)

    assert schema["$schema"].startswith("https://json-schema.org/")
    assert set(Settings.model_fields) < set(schema["properties"])


def test_the_schema_accepts_a_params_file_and_refuses_a_wrong_key(gossipgan: Gossipgan) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(gossipgan("config", "schema").out))
    content = YAML(typ="safe", pure=True).load(TEXT)

    assert validator.is_valid(content)
    assert not validator.is_valid({**content, "experiments": {"adam": {"data": {"size": 32}}}})
    assert not validator.is_valid({**content, "training": {"step": 7}})


def test_version_and_help(gossipgan: Gossipgan) -> None:
    assert gossipgan("--version").out == f"gossipgan {__version__}\n"
    for arguments in [["--help"], ["config", "--help"], ["config", "show", "--help"], ["prepare", "--help"]]:
        assert "Usage: gossipgan" in gossipgan(*arguments).out


def test_help_and_config_import_nothing_heavy(params: Path) -> None:
    code = """
import sys
from gossipgan.cli import main
sys.argv = ["gossipgan", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    heavy = {"torch", "mlflow", "optuna", "torch_fidelity", "matplotlib", "scipy", "dvc"} & set(sys.modules)
    sys.exit(end.code or ", ".join(heavy) or 0)
"""

    for arguments in [["--help"], ["config", "show"], ["config", "schema"]]:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=params.parent, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_ends_in_one_line_and_status_130(tmp_path: Path) -> None:
    # A command that waits: its params file is a pipe that nobody has written to yet.
    pipe = tmp_path / "params.yaml"
    os.mkfifo(pipe)

    with subprocess.Popen(
        [*COMMAND, "config", "show", "--params", str(pipe)],
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        # Opening the other end returns once the command has opened its own.
        with pipe.open("w"):
            command.send_signal(signal.SIGINT)
            assert command.wait(timeout=30) == 130
        assert command.stderr is not None
        told = command.stderr.read()
    assert told.startswith("gossipgan: interrupted")
    assert told.count("\n") == 1
