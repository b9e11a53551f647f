"""What a sweep adds to a trial: the trials of a sweep beside the same trainings, one after the other in one process.

    python benchmarks/sweep_overhead.py --trials 20 --repeats 3

Both sides train and score the same settings on the same small project; scores must be equal to the last bit. A trial's
time in the sweep is from the first trial's start to the last one's end, by the study's own record, over their number:
it holds proposals, the database, the processes, watching and telling. What a sweep costs once (imports, checks, the
study) is told apart. Seconds of the processor are those of all processes of the sweep, imports included.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PARAMS = """
data: {limit: 1000, held_out: 300}
extractor: {width: 8, features: 16, epochs: 1}
game: {width: 8, latent: 16}
training: {batch: 16, threads: 1, device: cpu}
evaluation: {samples: 500, metrics: [fid], batch: 250, batch_norm: running}
tracking: {mlflow: MLFLOW}
seeds: [1]
experiments:
  baseline: {}
"""

SWEEP = """
space:
  lookahead.kind: joint
  lookahead.k: {int: [2, 10]}
  lookahead.alpha: {float: [0.2, 1.0]}
  optimizer.generator.lr: {float: [1.0e-4, 1.0e-2], log: true}
  optimizer.discriminator.lr: {same_as: optimizer.generator.lr}
  training.steps: STEPS
  training.evaluate_every: EVERY
  training.sample_every: STEPS
  training.checkpoint_every: EVERY
sampler: {kind: tpe, startup: 5}
pruner: none
baselines: []
budget: {trials: TRIALS}
"""


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description="What a sweep adds to a trial.")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--mlflow", action="store_true", help="also show the sweep in MLflow, as it runs")
    parser.add_argument("--plain", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.plain is not None:
        print(json.dumps(_train_plainly(given.plain)))
        return
    rounds = [_round(given) for _ in range(given.repeats)]
    added = [one["sweep"] - one["plain"] for one in rounds]
    print(
        json.dumps(
            {
                "trials": given.trials,
                "steps": given.steps,
                "mlflow": given.mlflow,
                "seconds a trial": {
                    "added": {"median": statistics.median(added), "least": min(added), "most": max(added)},
                    "sweep": [one["sweep"] for one in rounds],
                    "plain": [one["plain"] for one in rounds],
                },
                "seconds once": [one["once"] for one in rounds],
                "seconds of the processor a trial": {
                    "sweep": [one["sweep_processor"] for one in rounds],
                    "plain": [one["plain_processor"] for one in rounds],
                },
            },
            indent=2,
        )
    )


def _round(given: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "params.yaml").write_text(PARAMS.replace("MLFLOW", "true" if given.mlflow else "false"))
        (root / "sweeps").mkdir()
        sweep = SWEEP.replace("STEPS", str(given.steps)).replace("EVERY", str(max(1, given.steps // 4)))
        (root / "sweeps" / "overhead.yaml").write_text(sweep.replace("TRIALS", str(given.trials)))
        for stage in ("prepare", "extractor"):
            _run(root, "-m", "gossipgan", stage)
        began = time.monotonic()
        sweep_processor = _run(root, "-m", "gossipgan", "sweep", "run", "sweeps/overhead.yaml")[1]
        whole = time.monotonic() - began
        spent, scores = _read(root)
        output, plain_processor = _run(root, str(Path(__file__).resolve()), "--plain", str(root))
        plain = json.loads(output)
        if plain["scores"] != scores:
            sys.exit(f"the scores differ: {scores} in the sweep, {plain['scores']} outside it")
        return {
            "sweep": spent / given.trials,
            "plain": plain["seconds"] / given.trials,
            "once": whole - spent,
            "sweep_processor": sweep_processor / given.trials,
            "plain_processor": plain_processor / given.trials,
        }


def _run(root: Path, *arguments: str) -> tuple[str, float]:
    """Run Python in a folder; its output, and the seconds of the processor that it and all its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *arguments], cwd=root, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _read(root: Path) -> tuple[float, list[float]]:
    """Seconds from the first trial's start to the last one's end, and the scores."""
    import optuna

    from gossipgan.sweeps import default_url

    study = optuna.load_study(study_name="overhead", storage=default_url(root))
    starts, ends = zip(*((trial.datetime_start, trial.datetime_complete) for trial in study.trials), strict=True)
    return (max(ends) - min(starts)).total_seconds(), [trial.value for trial in study.trials]


def _train_plainly(root: Path) -> dict[str, Any]:
    """The same trainings, one after the other in this process, where everything is imported."""
    from contextlib import closing

    from rich.console import Console

    from gossipgan.config import load_params
    from gossipgan.data import Store
    from gossipgan.evaluation import Ruler
    from gossipgan.runs import Project, RunDirectory, read_journal
    from gossipgan.sweeps import StudyStorage, default_url, load_sweep, view
    from gossipgan.training import set_up_device, train

    sweep = load_sweep(root / "sweeps" / "overhead.yaml", load_params(root / "params.yaml"))
    with closing(StudyStorage(default_url(root), create=False)) as storage:
        trials = view(storage, "overhead", root / "work" / "sweeps").trials
    project = Project(root)
    store = Store.open(project.prepared)
    ruler = Ruler.open(sweep.base, store, project.extractor, project.cache, set_up_device(sweep.base.training))
    nowhere = Console(quiet=True)
    scores = []
    began = time.monotonic()
    for trial in trials:
        run = RunDirectory(root / "plain" / trial.name)
        train(run, sweep.trial_settings(trial.settings), 1, store, ruler, experiment=trial.name, console=nowhere)
        (metric,) = {key for entry in read_journal(run.journal) for key in entry if key.startswith("fid_")}
        scores.append([entry[metric] for entry in read_journal(run.journal) if metric in entry][-1])
    return {"seconds": time.monotonic() - began, "scores": scores}


if __name__ == "__main__":
    main()
