"""Whole runs: exact after an interruption, refused where they do not fit, ended where they diverge."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from safetensors.torch import load_file

from gossipgan.config import Settings, fingerprint
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.evaluation import Ruler
from gossipgan.runs import RunDirectory, read_journal
from gossipgan.training import resumable, train
from gossipgan.training.checkpoint import latest_checkpoint
from gossipgan.training.learner import Learner

from .conftest import small

LOOKAHEAD: dict[str, Any] = {"lookahead": {"kind": "joint", "k": 4, "alpha": 0.5}}


def _train(path: Path, settings: Settings, store: Store, ruler: Ruler, seed: int = 1) -> RunDirectory:
    run = RunDirectory(path)
    train(run, settings, seed, store, ruler, experiment="test", console=Console(file=io.StringIO()))
    return run


def _content(run: RunDirectory) -> dict[str, bytes]:
    """Every byte of a run that two executions must agree on."""
    weights = [path for path in run.weights.rglob("*") if path.is_file()]
    files = [run.journal, run.result, run.settings, *weights, *run.samples.iterdir()]
    return {str(file.relative_to(run.path)): file.read_bytes() for file in files}


def _interrupt(run: RunDirectory, path: Path, step: int) -> None:
    """A copy of a finished run as it would be, had it been killed some time after the checkpoint of a step."""
    shutil.copytree(run.path, path)
    copy = RunDirectory(path)
    copy.result.unlink()
    shutil.rmtree(copy.weights)
    for checkpoint in copy.checkpoints.iterdir():
        if int(checkpoint.name.removeprefix("step-")) > step:
            shutil.rmtree(checkpoint)
    with copy.journal.open("ab") as file:
        file.write(b'{"event":"losses","st')


def _simultaneous(name: str, **more: Any) -> dict[str, Any]:
    return {"optimizer": {"name": name, "update": "simultaneous", **more}}


#: Base methods by name: every optimizer, in the orders of update that it knows.
BASES: dict[str, dict[str, Any]] = {
    "adam": {},
    "adam, simultaneous": _simultaneous("adam"),
    "adam, several d steps": {"optimizer": {"d_steps": 2}},
    "sgd": {"optimizer": {"name": "sgd", "generator": {"momentum": -0.3}, "discriminator": {"momentum": 0.5}}},
    "radam": {"optimizer": {"name": "radam"}},
    "oadam": {"optimizer": {"name": "oadam"}},
    "omd": {"optimizer": {"name": "omd"}},
    "extragradient": _simultaneous("extragradient", generator={"momentum": 0.5}),
    "extra-adam": _simultaneous("extra-adam"),
    "extra-adam, own moments": _simultaneous("extra-adam", extrapolation="own"),
    "dposg": _simultaneous("dposg"),
}

#: Further methods that an interruption must not change.
METHODS: dict[str, dict[str, Any]] = {
    **{f"lookahead over {name}": {**base, **LOOKAHEAD} for name, base in BASES.items()},
    "no lookahead": {},
    "alternating": {"lookahead": {"kind": "alternating", "k": 4}, "optimizer": {"d_steps": 2}},
    "nested": {"lookahead": {"kind": "nested", "k": 4, "super_k": 12, "moments": "pullback", "buffers": "average"}},
    "random k": {"lookahead": {"kind": "joint", "k": 2, "k_max": 7}},
    "a k for each": {"lookahead": {"kind": "joint", "k": 4, "discriminator_k": 7}},
    "moments pulled back": {"lookahead": {"kind": "joint", "k": 4, "moments": "pullback"}},
    "moments reset": {"lookahead": {"kind": "joint", "k": 5, "moments": "reset"}},
    "wgan-gp": {"game": {"loss": "wgan-gp", "discriminator_norm": "none"}},
    "schedule, decay and clipping": {
        "optimizer": {
            "generator": {"schedule": "cosine", "warmup": 7, "clip_norm": 0.1},
            "discriminator": {"schedule": "exponential", "weight_decay": 0.1},
        }
    },
    "averaged buffers": {"averaging": {"ema_half_life": None, "ema_decay": 0.9, "buffers": "average"}},
    "all averages": {"averaging": {"ema_slow_decay": 0.5, "uniform_from": 3}, **LOOKAHEAD},
    "no average": {
        "averaging": {"ema_half_life": None},
        "evaluation": {"headline": "fast", "iterates": ["fast"]},
    },
}


@pytest.mark.parametrize("method", list(METHODS))
def test_a_run_resumed_in_mid_cycle_ends_with_the_same_bytes(
    method: str, tmp_path: Path, store: Store, ruler: Ruler
) -> None:
    settings = small(**METHODS[method])
    whole = _train(tmp_path / "whole", settings, store, ruler)
    _interrupt(whole, tmp_path / "resumed", step=15)  # k = 4: three steps into a cycle; log_every = 4 too
    assert resumable(RunDirectory(tmp_path / "resumed"))
    resumed = _train(tmp_path / "resumed", settings, store, ruler)
    assert _content(resumed) == _content(whole)
    entries = [entry["step"] for entry in read_journal(resumed.clock)]
    assert entries == sorted(set(entries))


def test_how_often_checkpoints_are_taken_changes_nothing(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    often = _train(tmp_path / "often", small(training={"checkpoint_every": 3}), store, ruler)
    seldom = _train(tmp_path / "seldom", small(training={"checkpoint_every": 1000}), store, ruler)
    one, other = _content(often), _content(seldom)
    assert one.pop("settings.yaml") != other.pop("settings.yaml")
    assert one == other


def test_a_finished_run_is_returned_and_not_run_again(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    run = _train(tmp_path / "run", small(), store, ruler)
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    _train(tmp_path / "run", small(), store, ruler)
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before


def test_the_journal_says_what_happened_and_when(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    run = _train(tmp_path / "run", small(optimizer={"d_steps": 2}), store, ruler)
    entries = list(read_journal(run.journal))
    steps = {event: [e["step"] for e in entries if e["event"] == event] for event in ("losses", "score", "samples")}
    assert steps == {"losses": [4, 8, 12, 16, 20], "score": [10, 20], "samples": [10, 20]}
    assert entries[-1] == {"event": "end", "step": 20, "images": 320, "outcome": "ok", "reason": None}
    assert all(entry["images"] == entry["step"] * 8 * 2 for entry in entries if "images" in entry)
    assert all("fid_digits_100_ema" in entry for entry in entries if entry["event"] == "score")
    assert [path.name for path in sorted(run.samples.iterdir())] == ["step-00000010.png", "step-00000020.png"]


def test_journaled_losses_are_means_over_the_steps_since_the_entry_before(
    tmp_path: Path, store: Store, ruler: Ruler
) -> None:
    run = _train(tmp_path / "run", small(), store, ruler)
    learner = Learner(0, small(), 1, torch.from_numpy(np.array(store.images("train"))), None, torch.device("cpu"))
    played = torch.stack([learner.play() for _ in range(20)]).double()
    entries = [entry for entry in read_journal(run.journal) if entry["event"] == "losses"]
    for entry in entries:
        expected = played[entry["step"] - 4 : entry["step"]].mean(dim=0).tolist()
        assert [entry[name] for name in ("loss_d", "loss_g", "d_real", "d_fake")] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("base", "kind"),
    [
        (base, kind)
        for base, method in BASES.items()
        for kind in ("joint", "alternating", "nested")
        # A simultaneous update has no alternating Lookahead.
        if kind != "alternating" or method.get("optimizer", {}).get("update") != "simultaneous"
    ],
)
def test_lookahead_with_alpha_1_is_the_base_method_to_the_last_bit(
    base: str, kind: str, tmp_path: Path, store: Store, ruler: Ruler
) -> None:
    quick: dict[str, Any] = {"training": {"steps": 10}, "evaluation": {"metrics": ["fid"]}}
    lookahead = {"kind": kind, "k": 2, "super_k": 4, "alpha": 1.0, "super_alpha": 1.0}
    plain = _train(tmp_path / "base", small(**quick, **BASES[base]), store, ruler)
    alpha_1 = _train(tmp_path / "one", small(**quick, **BASES[base], lookahead=lookahead), store, ruler)
    for name in ("fast", "ema"):
        assert alpha_1.generator(name).read_bytes() == plain.generator(name).read_bytes()


def test_fast_weights_are_saved_as_they_were_before_the_backtrack(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    # With k beyond the run the fast weights are those of the base method; with k at its end they must be too.
    base = _train(tmp_path / "base", small(), store, ruler)
    synced = _train(tmp_path / "synced", small(lookahead={"kind": "joint", "k": 20, "alpha": 0.5}), store, ruler)
    assert synced.generator("fast").read_bytes() == base.generator("fast").read_bytes()
    fast, slow = load_file(synced.generator("fast")), load_file(synced.generator("slow"))
    assert not (fast["layers.0.weight"] == slow["layers.0.weight"]).all()


def test_the_best_checkpoint_and_the_last_two_are_kept(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    run = _train(tmp_path / "run", small(training={"steps": 40}), store, ruler)
    scores = {e["step"]: e["fid_digits_100_ema"] for e in read_journal(run.journal) if e["event"] == "score"}
    best = min(scores, key=lambda step: scores[step])
    assert run.read_result()["best_step"] == best
    kept = {int(path.name.removeprefix("step-")) for path in run.checkpoints.iterdir()}
    assert kept == {35, 40, best}


def test_a_learning_rate_far_too_high_ends_the_run_as_diverged(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    # Without norms and with plain hinge losses, steps of 10 in every weight overflow within a few iterations.
    settings = small(
        game={"loss": "hinge", "discriminator_norm": "none"},
        optimizer={"generator": {"lr": 10.0}, "discriminator": {"lr": 10.0}},
        training={"steps": 4000},
    )
    run = _train(tmp_path / "run", settings, store, ruler)
    result, entries = run.read_result(), list(read_journal(run.journal))
    assert result["outcome"] == "diverged"
    assert result["steps"] < 4000
    assert entries[-1]["outcome"] == "diverged"
    assert entries[-1]["reason"] == result["reason"]
    assert "at step" in result["reason"] or "lower bound" in result["reason"]


def test_a_discriminator_that_has_won_ends_the_run_as_diverged(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    settings = small(
        game={"loss": "hinge", "discriminator_norm": "none", "width": 8},
        optimizer={"generator": {"lr": 1e-9}, "discriminator": {"lr": 5e-3}},
        training={"steps": 400, "divergence_window": 12},
    )
    result = _train(tmp_path / "run", settings, store, ruler).read_result()
    assert result["outcome"] == "diverged"
    assert "lower bound" in result["reason"]


def test_a_directory_of_another_run_is_refused_by_name(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    _train(tmp_path / "run", small(), store, ruler)
    with pytest.raises(UserError, match=f"holds another run .fingerprint {fingerprint(small(), 1, store.digest)[:12]}"):
        _train(tmp_path / "run", small(), store, ruler, seed=2)


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    (tmp_path / "precious").write_text("thesis")
    with pytest.raises(UserError, match="not empty and not a run directory"):
        _train(tmp_path, small(), store, ruler)
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize(("key", "message"), [("fingerprint", "checkpoint of another run"), ("code", "other|another")])
def test_a_checkpoint_of_other_settings_or_code_is_refused(
    key: str, message: str, tmp_path: Path, store: Store, ruler: Ruler
) -> None:
    _interrupt(_train(tmp_path / "whole", small(), store, ruler), tmp_path / "run", step=15)
    run = RunDirectory(tmp_path / "run")
    path = latest_checkpoint(run.checkpoints)
    assert path is not None
    numbers = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**numbers, key: "0" * 64}))
    before = run.journal.read_bytes()
    with pytest.raises(UserError, match=message):
        _train(run.path, small(), store, ruler)
    assert run.journal.read_bytes() == before


def test_a_grid_of_fast_weights_shows_them_before_the_backtrack(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    # Grids at steps 5, 10, ...; scores at none of the steps at which there is a backtrack.
    often: dict[str, Any] = {"training": {"sample_every": 5, "evaluate_every": 1000, "steps": 15}}
    shown: dict[str, Any] = {"evaluation": {"headline": "fast", "iterates": ["fast"]}}
    base = _train(tmp_path / "base", small(**often, **shown), store, ruler)
    synced = _train(tmp_path / "synced", small(**often, **shown, lookahead={"kind": "joint", "k": 5}), store, ruler)
    first, second = (run.samples / "step-00000005.png" for run in (base, synced))
    assert first.read_bytes() == second.read_bytes()
    assert (base.samples / "step-00000010.png").read_bytes() != (synced.samples / "step-00000010.png").read_bytes()


def test_other_classes_than_the_pictures_have_are_refused(tmp_path: Path, store: Store, ruler: Ruler) -> None:
    conditional: dict[str, Any] = {
        "data": {"size": 32, "resize": True, "limit": 400, "held_out": 200},
        "game": {"network": "resnet32", "classes": 7},
    }
    with pytest.raises(UserError, match=r"game.classes: 7, but the pictures of .* have 10 classes; use 0 or 10"):
        _train(tmp_path / "run", small(**conditional), store, ruler)
    assert not (tmp_path / "run").exists()
