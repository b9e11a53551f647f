"""``gossipgan extractor``, ``train`` and ``evaluate``: the stages of the pipeline, one at a time, outside DVC."""

import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from gossipgan.cli.options import PARAMS, Experiment, Overrides, Params
from gossipgan.config import fingerprint, load_params
from gossipgan.errors import UserError

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Prepared store; default: data/prepared beside the params file."),
]
Extractor = Annotated[
    Path | None,
    typer.Option("--extractor", metavar="DIR", help="Trained extractor; default: extractor beside the params file."),
]


def extractor(
    overrides: Overrides = None,
    params: Params = PARAMS,
    data: Data = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where it is written.")] = None,
) -> None:
    """Train the classifier whose features the metrics are measured on."""
    from gossipgan.data import Store
    from gossipgan.evaluation import train_extractor
    from gossipgan.runs import Project

    settings = load_params(params).shared_settings(overrides or ())
    project = Project(params.parent)
    store = Store.open(data or project.prepared)
    result = train_extractor(settings.extractor, store, out or project.extractor, settings.training.threads)
    typer.echo(f"extractor {settings.extractor.name}: held-out accuracy {result['held_out_accuracy']:.2%}")


def train(
    experiment: Experiment = None,
    overrides: Overrides = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="The run's seed; default: the first of the params file.")
    ] = None,
    params: Params = PARAMS,
    data: Data = None,
    extractor: Extractor = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Run directory; default: trained/EXPERIMENT/seed-SEED-FINGERPRINT."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start over, whatever the directory holds.")] = False,
    fail_on_divergence: Annotated[
        bool, typer.Option("--fail-on-divergence", help="Exit with status 1 if the run diverges.")
    ] = False,
) -> None:
    """Train one experiment at one seed. Interrupted, the same command goes on from the last checkpoint."""
    from rich.console import Console

    from gossipgan.data import Store, check_prepared
    from gossipgan.evaluation import Ruler
    from gossipgan.runs import Project, RunDirectory
    from gossipgan.training import set_up_device
    from gossipgan.training import train as train_run

    file = load_params(params)
    settings = file.settings(experiment, overrides or ())
    name = experiment or "settings"
    chosen_seed = file.seeds[0] if seed is None else seed
    project = Project(params.parent)
    store = Store.open(data or project.prepared)
    check_prepared(store, settings.data)
    identity = fingerprint(settings, chosen_seed, store.digest)
    run = RunDirectory(out or project.root / "trained" / name / f"seed-{chosen_seed}-{identity[:12]}")
    if overwrite and run.path.exists():
        if not run.settings.exists() and any(run.path.iterdir()):
            raise UserError(f"{run.path}: not a run directory, so --overwrite leaves it alone; give another --out")
        shutil.rmtree(run.path)
    device = set_up_device(settings.training)
    ruler = Ruler.open(settings, store, extractor or project.extractor, project.cache, device)
    result = train_run(run, settings, chosen_seed, store, ruler, experiment=name, console=Console())
    typer.echo(f"{name} seed {chosen_seed}: {result['outcome']} after {result['steps']} steps, in {run.path}")
    if result["outcome"] != "ok":
        typer.echo(f"reason: {result['reason']}")
        if fail_on_divergence:
            raise typer.Exit(1)


def evaluate(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A finished run.")],
    params: Params = PARAMS,
    data: Data = None,
    extractor: Extractor = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score every iterate of a finished run, by the settings it was trained with."""
    from gossipgan.data import Store
    from gossipgan.evaluation import Ruler, evaluate_run
    from gossipgan.runs import Project, RunDirectory
    from gossipgan.training import set_up_device

    run = RunDirectory(run_dir)
    settings, identity = run.read_settings()
    project = Project(params.parent)
    store = Store.open(data or project.prepared)
    if store.digest != identity["data_digest"]:
        raise UserError(
            f"{run_dir}: was trained on other data (digest {identity['data_digest'][:12]}) than the store holds "
            f"({store.digest[:12]}); name its store with --data"
        )
    device = set_up_device(settings.training)
    ruler = Ruler.open(settings, store, extractor or project.extractor, project.cache, device)
    scores = evaluate_run(run, ruler, settings)
    if as_json:
        typer.echo(json.dumps(scores, indent=2))
        return
    width = max(len(name) for name in scores)
    for name, value in scores.items():
        typer.echo(f"{name:{width}}  {value:.4f}" if isinstance(value, float) else f"{name:{width}}  {value}")
