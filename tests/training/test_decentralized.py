"""Several learners in one process: against one learner, against each other's methods, and after an interruption."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import nn

from gossipgan.config import OptimizerSettings, Settings
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import Ruler, evaluate_run
from gossipgan.mixing import build_schedule
from gossipgan.mixing.decentralized import Decentralized
from gossipgan.mixing.gossip import Gossip
from gossipgan.mixing.group import OneProcess
from gossipgan.mixing.wires import Float32
from gossipgan.optimizers import FlatPlayer, PlayerOptimizer
from gossipgan.runs import RunDirectory, read_journal

from .conftest import small
from .test_loop import _content, _interrupt, _train

QUICK: dict[str, Any] = {"evaluation": {"metrics": ["fid"], "iterates": ["fast"], "headline": "fast"}}


def _several(**mixing: Any) -> dict[str, Any]:
    return {"mixing": {"learners": 4, **mixing}, **QUICK}


def _weights(run: RunDirectory) -> dict[str, torch.Tensor]:
    return load_file(run.generator("fast"))


@pytest.mark.parametrize("kind", ["allreduce", "server", "gossip"])
def test_one_learner_of_any_kind_is_the_single_learner_to_the_last_bit(
    kind: str, tmp_path: Path, store: Store, ruler: Ruler
) -> None:
    single = _train(tmp_path / "single", small(**QUICK), store, ruler)
    other = _train(tmp_path / "other", small(mixing={"kind": kind}, **QUICK), store, ruler)
    assert other.generator("fast").read_bytes() == single.generator("fast").read_bytes()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_exact_averaging_is_centralized_training_for_plain_sgd(
    optimizer: str, tmp_path: Path, store: Store, ruler: Ruler
) -> None:
    # One gradient step from one point, then W = J / n: as good as one step by the mean gradient. Adam's moments are
    # each learner's own, so that with Adam the two differ.
    method: dict[str, Any] = {"optimizer": {"name": optimizer}, "training": {"steps": 6}}
    averaged = small(**_several(kind="gossip", topology="complete"), **method)
    centralized = small(**_several(kind="allreduce"), **method)
    one, other = (
        _weights(_train(tmp_path / name, settings, store, ruler))["layers.0.weight"]
        for name, settings in (("gossip", averaged), ("allreduce", centralized))
    )
    if optimizer == "sgd":
        torch.testing.assert_close(one, other, rtol=1e-3, atol=5e-6)
    else:
        assert float((one - other).abs().max()) > 1e-4


def test_all_reduce_and_server_give_the_same_weights(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    one, other = (
        _weights(_train(tmp_path / kind, small(**_several(kind=kind)), store, ruler))
        for kind in ("allreduce", "server")
    )
    torch.testing.assert_close(one["layers.0.weight"], other["layers.0.weight"], rtol=1e-3, atol=1e-5)


MIXINGS: dict[str, dict[str, Any]] = {
    "ring": {"kind": "gossip"},
    "several rounds, every third iteration": {"kind": "gossip", "rounds": 2, "period": 3},
    "one peer": {"kind": "gossip", "topology": "one-peer-exponential"},
    "random matching": {"kind": "gossip", "topology": "random-matching"},
    "a topology for each player": {"kind": "gossip", "discriminator_topology": "complete", "discriminator_rounds": 2},
    "moments and statistics": {"kind": "gossip", "moments": "mix", "buffers": "mix"},
    "stale": {"kind": "stale-gossip"},
    "int8": {"kind": "gossip", "wire": "int8"},
    "topk": {"kind": "gossip", "wire": "topk"},
    "all-reduce": {"kind": "allreduce"},
    "dirichlet shards": {"kind": "gossip", "shards": "dirichlet"},
}


@pytest.mark.parametrize("mixing", list(MIXINGS))
def test_learners_resumed_in_mid_cycle_end_with_the_same_bytes(
    mixing: str, tmp_path: Path, store: Store, ruler: Ruler
) -> None:
    settings = small(**_several(**MIXINGS[mixing]), lookahead={"kind": "joint", "k": 4})
    whole = _train(tmp_path / "whole", settings, store, ruler)
    _interrupt(whole, tmp_path / "resumed", step=15)
    resumed = _train(tmp_path / "resumed", settings, store, ruler)
    assert _content(resumed) == _content(whole)


@pytest.mark.parametrize("mixes", ["slow", "both"])
def test_slow_weights_are_mixed_at_backtracks(mixes: str, tmp_path: Path, store: Store, ruler: Ruler) -> None:
    # With W = J / n all learners are alike after a mix of slow weights, which only happens every k iterations.
    lookahead: dict[str, Any] = {"lookahead": {"kind": "joint", "k": 4, "alpha": 0.5}}
    mixing = _several(kind="gossip", topology="complete", mixes=mixes)
    settings = small(**mixing, **lookahead, training={"steps": 8, "log_every": 1})
    run = _train(tmp_path / "run", settings, store, ruler)
    states = [load_file(run.generator("fast", learner))["layers.0.weight"] for learner in range(4)]
    alike = all(torch.allclose(states[0], state, atol=1e-6) for state in states)
    assert alike == (mixes == "both")  # fast weights of the last iteration are saved as they were before it
    bytes_sent = [entry["bytes"] for entry in read_journal(run.journal) if entry["event"] == "mixing"]
    assert (bytes_sent[2] == 0) == (mixes == "slow")


def test_measured_contraction_is_that_of_the_matrix(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    run = _train(tmp_path / "run", small(**_several(kind="gossip", rounds=2)), store, ruler)
    entries = [entry for entry in read_journal(run.journal) if entry["event"] == "mixing"]
    assert [entry["step"] for entry in entries] == [4, 8, 12, 16, 20]
    for entry in entries:  # a uniform ring of four: every eigenvalue but 1 is +-1/3
        assert entry["contraction_generator"] == pytest.approx(1 / 9, rel=1e-4)
        assert entry["contraction_discriminator"] == pytest.approx(1 / 9, rel=1e-4)
        assert entry["consensus_generator"] > 0
    learner = load_file(run.generator("fast", 0))
    floats = sum(-(-tensor.numel() // 16) * 16 for name, tensor in learner.items() if name.endswith("0.weight"))
    assert (
        entries[0]["bytes"] > 4 * 4 * 2 * 2 * floats
    )  # iterations, learners, neighbours, rounds; of G's first layer alone


def test_saved_weights_are_the_mean_of_the_learners_beside_them(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    run = _train(tmp_path / "run", small(**_several(kind="gossip"), averaging={"ema_half_life": 5}), store, ruler)
    everybody = [load_file(run.generator("fast", learner)) for learner in range(4)]
    for name, tensor in _weights(run).items():
        if tensor.is_floating_point():
            expected = torch.stack([state[name] for state in everybody]).double().mean(dim=0)
            torch.testing.assert_close(tensor.double(), expected, rtol=1e-5, atol=1e-7)
    recorded = run.read_result()["weights"]
    assert {"generator-fast", "learner-0003/generator-fast", "learner-0000/discriminator"} <= set(recorded)


def test_a_missing_learner_of_a_checkpoint_is_named(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    settings = small(**_several(kind="gossip"))
    _interrupt(_train(tmp_path / "whole", settings, store, ruler), tmp_path / "run", step=15)
    checkpoint = tmp_path / "run" / "checkpoints" / "step-00000015"
    (checkpoint / "learner-0002.safetensors").unlink()
    with pytest.raises(UserError, match=r"learner-0002.safetensors: not of a checkpoint"):
        _train(tmp_path / "run", settings, store, ruler)
    shutil.rmtree(checkpoint)
    assert _content(_train(tmp_path / "run", settings, store, ruler)) == _content(RunDirectory(tmp_path / "whole"))


def _noisy_field(z: NDArray[np.float64], learner: int, k: int) -> NDArray[np.float64]:
    """A joint gradient on (x, y): x*y with a curvature, and noise that depends on the learner and the evaluation."""
    x, y = z[:3], z[3:]
    noise = np.sin(np.arange(6) + 5 * learner + k)
    return np.concatenate([y + 0.3 * x, -x + 0.2 * y]) + noise


def test_dposg_is_the_papers_recursion_written_densely() -> None:
    # X_k = X_{k-1} W^t - eta g(Z_k), Z_k = X_{k-1} W^t - eta g(Z_{k-1}); columns are learners; n = 8, t = 3, 50 steps.
    learners, rounds, eta, steps = 8, 3, 0.1, 50
    schedule = build_schedule("ring", learners, symmetric_for="dposg")
    start = np.linspace(-1, 1, 6)
    w = np.linalg.matrix_power(schedule.at(0), rounds)
    x, last = np.tile(start[:, None], (1, learners)), np.zeros((6, learners))
    for k in range(steps):
        mixed = x @ w
        z = mixed - eta * last
        last = np.stack([_noisy_field(z[:, i], i, k) for i in range(learners)], axis=1)
        x = mixed - eta * last

    def player() -> FlatPlayer:
        network = nn.Linear(6, 1, bias=False)
        network.weight.data.copy_(torch.tensor(start, dtype=torch.float32))
        return FlatPlayer(network)

    method = OptimizerSettings.model_validate(
        {"name": "dposg", "update": "simultaneous", "generator": {"lr": eta}, "discriminator": {"lr": eta}}
    )
    players = [player() for _ in range(learners)]
    optimizers = [PlayerOptimizer(one, method, method.generator, steps) for one in players]
    mixing = Decentralized([(("joint",), Gossip(OneProcess(learners), schedule, rounds, Float32()))], period=1)
    for k in range(steps):
        for i, (one, optimizer) in enumerate(zip(players, optimizers, strict=True)):
            optimizer.extrapolate()
            one.gradient[:6] = torch.tensor(_noisy_field(one.vector.detach().numpy()[:6].astype(np.float64), i, k))
            optimizer.step()
        if k + 1 < steps:  # the recursion mixes at the start of an iteration, the loop at its end
            mixing.weights(k + 1, {"joint": {i: [one.vector.data] for i, one in enumerate(players)}})
    mine = np.stack([one.vector.detach().numpy()[:6] for one in players], axis=1)
    np.testing.assert_allclose(mine, x, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("topology", ["one-peer-exponential", "random-matching"])
def test_dposg_over_matrices_that_change_is_refused(topology: str, tmp_path: Path, store: Store, ruler: Ruler) -> None:
    settings: Settings = small(
        **_several(kind="gossip", topology=topology), optimizer={"name": "dposg", "update": "simultaneous"}
    )
    with pytest.raises(UserError, match="dposg needs a fixed one"):
        _train(tmp_path / "run", settings, store, ruler)


def test_a_run_is_not_gone_on_with_when_its_graph_has_changed(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n1 2\n2 3\n")
    settings = small(**_several(kind="gossip", topology="custom", file=str(edges)))
    whole = _train(tmp_path / "whole", settings, store, ruler)
    _interrupt(whole, tmp_path / "run", step=15)
    edges.write_text("0 1\n1 2\n2 3\n3 0\n")
    with pytest.raises(UserError, match="holds another run"):
        _train(tmp_path / "run", settings, store, ruler)
    edges.write_text("0 1\n1 2\n2 3\n")
    assert _content(_train(tmp_path / "run", settings, store, ruler)) == _content(whole)


def test_every_learner_is_scored_beside_the_mean(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    settings = small(**_several(kind="gossip"))
    run = _train(tmp_path / "run", settings, store, ruler)
    scores = evaluate_run(run, ruler, settings)
    each = [scores[f"fid_digits_100_fast-learner-{learner:04d}"] for learner in range(4)]
    assert scores["fid_digits_100_fast-best-learner"] == min(each)
    assert scores["fid_digits_100_fast-worst-learner"] == max(each)
    assert isinstance(scores["fid_digits_100_fast-ensemble"], float)
    unscored = settings.model_copy(update={"evaluation": settings.evaluation.model_copy(update={"learners": False})})
    assert not any("learner" in name for name in evaluate_run(run, ruler, unscored))
