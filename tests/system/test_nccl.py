"""Learners on two GPUs, whose messages go over NCCL: the same as in one process, by the same command."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from .conftest import prepare_project, run

GPUS = torch.cuda.device_count()

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(GPUS < 2, reason=f"needs two GPUs for NCCL; found {GPUS}"),
]

PARAMS = """
data: {limit: 400, held_out: 200}
extractor: {width: 4, features: 8, epochs: 1}
game: {width: 4, latent: 8}
averaging: {ema_half_life: 5}
training:
  {steps: 12, batch: 8, threads: 1, device: auto, log_every: 4, evaluate_every: 12, sample_every: 12,
   checkpoint_every: 4}
evaluation: {samples: 100, kid_subset_size: 50, kid_subsets: 2, batch: 100, metrics: [fid]}
seeds: [1]
experiments:
  ring: {mixing: {kind: gossip, learners: 4, rounds: 2}, lookahead: {kind: joint, k: 5}}
  allreduce: {mixing: {kind: allreduce, learners: 4}, training: {steps: 2}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared project whose experiments have four learners: two on each GPU, or all on one."""
    path = tmp_path_factory.mktemp("nccl")
    prepare_project(path, PARAMS)
    for experiment in ("ring", "allreduce"):
        run(f"gossipgan train -e {experiment} --out {experiment}-1", path)
        run(f"gossipgan train -e {experiment} --processes 2 --out {experiment}-2", path)
    return path


def _weights(folder: Path, name: str) -> dict[str, dict[str, torch.Tensor]]:
    weights = folder / name / "weights"
    return {str(file.relative_to(weights)): load_file(file) for file in weights.rglob("*.safetensors")}


def test_gossip_over_nccl_ends_with_the_same_bits_as_in_one_process(folder: Path) -> None:
    one, two = _weights(folder, "ring-1"), _weights(folder, "ring-2")
    assert len(one) == len(two) > 4
    for file, tensors in one.items():
        for name, tensor in tensors.items():
            assert torch.equal(two[file][name], tensor), f"{file}: {name}"


def test_all_reduce_over_nccl_is_the_same_to_rounding(folder: Path) -> None:
    one, two = (_weights(folder, f"allreduce-{processes}")["generator-fast.safetensors"] for processes in (1, 2))
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-4, atol=1e-5)


def test_going_on_without_a_process_is_refused_in_a_line(folder: Path) -> None:
    command = "gossipgan train -e ring --processes 2 --out rewire -S mixing.on_loss=rewire"
    done = run(command, folder, status=2)
    assert "mixing.on_loss: rewire is for processes on CPUs: NCCL's calls end with a process that dies" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "rewire").exists()
