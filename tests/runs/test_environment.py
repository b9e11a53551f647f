"""What a result depends on beside its settings is recorded."""

import json
import platform

import numpy
import torch

from gossipgan.runs import describe_environment


def test_it_names_machine_versions_and_threads() -> None:
    environment = describe_environment(3, torch.device("cpu"))

    assert environment["threads"] == 3
    assert environment["device"] == "cpu"
    assert environment["python"] == platform.python_version()
    assert environment["numpy"] == numpy.__version__
    assert environment["torch"] == torch.__version__
    assert environment["processor"]
    assert json.loads(json.dumps(environment)) == environment
