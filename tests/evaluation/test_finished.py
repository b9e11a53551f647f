from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from gossipgan.config import EvaluationSettings, LookaheadSettings, Settings
from gossipgan.errors import UserError
from gossipgan.evaluation import Ruler, evaluate_run, sample
from gossipgan.games import build
from gossipgan.runs import RunDirectory

CPU = torch.device("cpu")


@pytest.fixture
def quick() -> Settings:
    return Settings(evaluation=EvaluationSettings(samples=200, metrics=("fid", "prc"), iterates=("fast", "ema")))


@pytest.fixture
def ruler(quick, store, trained, cache) -> Ruler:
    return Ruler.open(quick, store, trained.folder, cache, CPU)


@pytest.fixture
def run(quick, tmp_path: Path) -> RunDirectory:
    """A run with freshly initialised generators for weights."""
    run = RunDirectory(tmp_path / "run")
    run.weights.mkdir(parents=True)
    for seed, iterate in enumerate(("fast", "ema")):
        torch.manual_seed(seed)
        save_file(build(quick.game, quick.data)[0].state_dict(), run.generator(iterate))
    run.write_result(outcome="ok")
    return run


def test_each_iterate_is_scored_on_its_own_weights_and_the_floor_stands_beside(run, ruler, quick) -> None:
    scores = evaluate_run(run, ruler, quick)
    names = ["fid_digits_200", "precision_digits_200", "recall_digits_200"]
    assert list(scores) == ["outcome", *(f"{name}_{it}" for it in ("fast", "ema", "floor") for name in names)]
    assert scores["outcome"] == "ok"
    for seed, iterate in enumerate(("fast", "ema")):
        torch.manual_seed(seed)
        generator, _ = build(quick.game, quick.data)
        samples = sample(
            generator, quick.game.latent, 200, batch=250, noise_seed=0, device=CPU, recompute_batch_norm=True
        )
        assert scores[f"fid_digits_200_{iterate}"] == ruler.score(samples, ("fid",))["fid"]
    assert scores["fid_digits_200_floor"] < scores["fid_digits_200_ema"]


def test_iterates_that_the_method_lacks_are_left_out(run, ruler, quick) -> None:
    evaluation = EvaluationSettings(samples=200, metrics=("fid",), iterates=("fast", "slow", "ema"))
    plain = quick.model_copy(update={"evaluation": evaluation, "lookahead": LookaheadSettings(kind="none")})
    assert [name for name in evaluate_run(run, ruler, plain) if "slow" in name] == []


def test_a_diverged_run_is_scored_as_far_as_it_can_be(run, ruler, quick) -> None:
    run.generator("fast").unlink()
    run.write_result(outcome="diverged")
    scores = evaluate_run(run, ruler, quick)
    assert scores["outcome"] == "diverged"
    assert not any("fast" in name for name in scores)
    assert "fid_digits_200_ema" in scores
    assert "fid_digits_200_floor" in scores


def test_weights_that_give_no_finite_pictures_make_the_outcome_diverged(run, ruler, quick) -> None:
    broken = {name: tensor * torch.nan for name, tensor in build(quick.game, quick.data)[0].state_dict().items()}
    save_file(broken, run.generator("ema"))
    run.write_result(outcome="ok")
    scores = evaluate_run(run, ruler, quick)
    assert scores["outcome"] == "diverged"
    assert "fid_digits_200_fast" in scores
    assert not any("ema" in name for name in scores)


@pytest.mark.parametrize("damage", ["missing", "other", "unrecorded"])
def test_weights_that_are_missing_or_wrong_are_named(run, ruler, quick, damage: str) -> None:
    path = run.generator("ema")
    if damage == "missing":
        path.unlink()
    else:
        save_file({"weight": torch.zeros(3)}, path)
    if damage == "other":
        run.write_result(outcome="ok")
    with pytest.raises(UserError, match="train"):
        evaluate_run(run, ruler, quick)


def test_a_run_that_has_not_ended_is_refused(ruler, quick, tmp_path) -> None:
    with pytest.raises(UserError, match="has not ended"):
        evaluate_run(RunDirectory(tmp_path), ruler, quick)
