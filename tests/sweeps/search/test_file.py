from pathlib import Path

import pytest

from gossipgan.config import load_params
from gossipgan.errors import UserError
from gossipgan.sweeps import load_sweep
from gossipgan.sweeps.search import check_optimizer

from ..conftest import MakeSweep

ROOT = Path(__file__).parents[3]
BUDGET = "budget: {trials: 3}\n"
SEVERAL = "space: {lookahead.k: {int: [2, 5]}}\nobjectives: [{metric: fid}, {metric: bytes}]\n" + BUDGET


@pytest.mark.parametrize("name", ["lookahead", "decentralized"])
def test_the_files_that_ship_are_right(name: str) -> None:
    sweep = load_sweep(ROOT / "sweeps" / f"{name}.yaml", load_params(ROOT / "params.yaml"))
    check_optimizer(sweep)
    baseline, base = sweep.baseline_settings("baseline"), sweep.base
    assert baseline.training.steps == sweep.settings.space["training.steps"].value
    assert baseline.training.batch == base.training.batch == 64


def test_a_baseline_sees_as_many_pictures_as_the_trials(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(
        """
        space:
          mixing.kind: gossip
          mixing.learners: 4
          mixing.rounds: {int: [1, 2]}
          training.batch: 8
          training.steps: 50
        baselines: [baseline, gossip]
        budget: {trials: 3}
        """
    )
    centralized, gossip = (sweep.baseline_settings(name) for name in sweep.baselines)
    assert (centralized.training.steps, centralized.training.batch, centralized.mixing.kind) == (50, 32, "none")
    assert (gossip.training.steps, gossip.training.batch, gossip.mixing.learners) == (50, 8, 4)


def test_what_is_left_out_is_the_params_files(make_sweep: MakeSweep) -> None:
    sweep = make_sweep("space: {lookahead.k: {int: [2, 5]}}\nbudget: {trials: 3}")
    assert (sweep.experiment, sweep.seeds, sweep.baselines) == ("baseline", (3,), ("baseline",))
    (objective,) = sweep.objectives
    assert (objective.metric, objective.iterate, objective.minimize) == ("fid", "ema", True)


def test_enqueued_settings_stand_over_the_base_and_experiments_are_read_whole(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(
        """
        space:
          mixing.kind: {choices: [none, gossip]}
          mixing.rounds: {int: [1, 3], when: {mixing.kind: gossip}}
          lookahead.k: {int: [2, 9]}
        enqueue: [gossip, {lookahead.k: 7}]
        budget: {trials: 3}
        """
    )
    assert sweep.enqueued == (
        {"mixing.kind": "gossip", "lookahead.k": 5, "mixing.rounds": 1},
        {"mixing.kind": "none", "lookahead.k": 7},
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("space: {lookahead.kk: {int: [2, 5]}}\n" + BUDGET, "space.lookahead.kk: no such setting; did you mean"),
        ("space: {lookahead.k: {int: [2, 5], lgo: true}}\n" + BUDGET, "did you mean 'log'?"),
        ("space: {lookahead.k: {int: [2, 5.5]}}\n" + BUDGET, "space.lookahead.k.int.1: "),
        ("space: {lookahead.k: {int: [0, 5]}}\n" + BUDGET, "lookahead.k: input should be greater than or equal to 1"),
        ("space: {lookahead.alpha: {float: [0.5, 2]}}\n" + BUDGET, "lookahead.alpha: input should be less than"),
        ("space: {data.size: {int: [2, 5]}}\n" + BUDGET, "one ruler for all"),
        ("space: {lookahead.k: {same_as: lookahead.x}}\n" + BUDGET, "same_as: no setting 'lookahead.x'"),
        ("space: {lookahead.k: {int: [2, 5], when: {mixing.knd: gossip}}}\n" + BUDGET, "did you mean 'mixing.kind'?"),
        ("space: {mixing.kind: {choices: [none, gosip]}}\n" + BUDGET, "mixing.kind: input should be 'none'"),
        (
            "space: {mixing.kind: {choices: [gossip, stale-gossip]}, mixing.rounds: {int: [1, 3]}}\n" + BUDGET,
            "stale gossip has one round under way at a time",
        ),
        ("space: {lookahead.k: {int: [2, 5]}}\n", "trials, time or device_hours is wanted"),
        ("space: {}\n" + BUDGET, "space: "),
        (BUDGET, "space: is missing"),
        ("spaec: {}\n" + BUDGET, "space: is missing"),
        ("space: {lookahead.k: {int: [2, 5]}}\nsmapler: tpe\n" + BUDGET, "did you mean 'sampler'?"),
        ("space: {lookahead.k: {int: [2, 5]}}\nsampler: tpee\n" + BUDGET, "sampler.kind: input should be 'tpe'"),
        ("space: {lookahead.k: {int: [2, 5]}}\nbudget: {trails: 3}\n", "did you mean 'trials'?"),
        ("space: {lookahead.k: {int: [2, 5]}}\nbudget: {time: soon}\n", "a duration such as 90s"),
        ("space: {lookahead.alpha: {float: [0.2, 1]}}\nsampler: grid\n", "give step to every float"),
        ("space: {lookahead.k: {int: [2, 5]}}\nobjective: {iterate: slow}\n" + BUDGET, "pruner.kind: curves show fid"),
        (
            "space: {lookahead.k: {int: [2, 5]}}\nobjective: {iterate: slow}\npruner: none\n" + BUDGET,
            "has no slow iterate",
        ),
        (
            "space: {lookahead.k: {int: [2, 5]}}\nobjective: {metric: bytes, iterate: ema}\n" + BUDGET,
            "objective: iterate: bytes are sent by a run",
        ),
        ("space: {lookahead.k: {int: [2, 5]}}\nobjective: {metric: bytes}\n" + BUDGET, "pruner.kind: curves show fid"),
        (SEVERAL + "objective: {metric: fid}\npruner: none\n", "objective or objectives is wanted, not both"),
        (SEVERAL, "trials of several objectives are not pruned; say pruner: none"),
        (SEVERAL + "pruner: none\nsampler: cma-es\n", "cma-es knows one objective; use tpe"),
        (SEVERAL.replace("bytes", "seconds") + "pruner: none\n", "objectives.1.metric: input should be 'fid'"),
        (SEVERAL.replace("bytes", "fid") + "pruner: none\n", "objectives: each once"),
        (SEVERAL.replace("metric: bytes", "metrik: bytes") + "pruner: none\n", "did you mean 'metric'?"),
        (SEVERAL.replace("bytes", "is, iterate: slow") + "pruner: none\n", "has no slow iterate"),
        ("space: {lookahead.k: {int: [2, 5]}}\nexperiment: gosip\n" + BUDGET, "did you mean 'gossip'?"),
        ("space: {lookahead.k: {int: [2, 5]}}\nbaselines: [basline]\n" + BUDGET, "did you mean 'baseline'?"),
        ("space: {lookahead.k: {int: [2, 5]}}\nenqueue: [{lookahead.k: 9}]\n" + BUDGET, "9 lies outside the space"),
        ("space: {lookahead.k: {int: [2, 5]}}\nenqueue: [{lookahead.x: 9}]\n" + BUDGET, "did you mean 'lookahead.k'?"),
        ("space: {lookahead.k: {int: [2, 5]}}\nseeds: [1, 1]\n" + BUDGET, "each once"),
    ],
)
def test_a_mistake_is_said_in_one_line_with_file_and_key(make_sweep: MakeSweep, text: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        make_sweep(text)
    message = str(error.value)
    assert "some.yaml: " in message
    assert says in message
    assert "\n" not in message
