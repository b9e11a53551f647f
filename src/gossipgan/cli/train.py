"""``gossipgan extractor``, ``train`` and ``evaluate``: the stages of the pipeline, one at a time, outside DVC."""

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossipgan.cli.dry_run import print_dry_run, refuse_options
from gossipgan.cli.options import PARAMS, Experiment, Overrides, Params
from gossipgan.config import fingerprint, load_params
from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.config import Settings
    from gossipgan.runs import RunDirectory

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
    processes: Annotated[
        int | None,
        typer.Option("--processes", min=1, help="Host the learners in so many processes on this machine."),
    ] = None,
    restarts: Annotated[
        int,
        typer.Option(
            "--restarts",
            min=0,
            help="With --processes: restarts from the last checkpoint if one dies (none with mixing.on_loss: rewire).",
        ),
    ] = 3,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only print parameters, memory, operations and time; needs no prepared data."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: print JSON.")] = False,
) -> None:
    """Train one experiment at one seed. Interrupted, the same command goes on from the last checkpoint."""
    from rich.console import Console

    from gossipgan.data import Store, check_prepared
    from gossipgan.evaluation import Ruler
    from gossipgan.runs import Project, RunDirectory, code_digest
    from gossipgan.training import in_process_group, joined, learners_left, local_device, set_up_device
    from gossipgan.training import train as train_run

    file = load_params(params)
    settings = file.settings(experiment, overrides or ())
    name = experiment or "settings"
    chosen_seed = file.seeds[0] if seed is None else seed
    if dry_run:
        refuse_options(
            {
                "--data": data,
                "--extractor": extractor,
                "--out": out,
                "--overwrite": overwrite,
                "--fail-on-divergence": fail_on_divergence,
                "--processes": processes,
            }
        )
        print_dry_run(name, settings, chosen_seed, as_json)
        return
    if as_json:
        raise UserError("--json: goes with --dry-run alone; a run's results are in its result.json")
    project = Project(params.parent)
    store = Store.open(data or project.prepared)
    check_prepared(store, settings.data)
    identity = fingerprint(settings, chosen_seed, store.digest)
    run = RunDirectory(out or project.root / "trained" / name / f"seed-{chosen_seed}-{identity[:12]}")
    if overwrite and run.path.exists():
        if not run.settings.exists() and any(run.path.iterdir()):
            raise UserError(f"{run.path}: not a run directory, so --overwrite leaves it alone; give another --out")
        shutil.rmtree(run.path)
    if processes is not None:
        _launch(run, params, settings, experiment, overrides or (), chosen_seed, data, extractor, processes, restarts)
    else:
        device = local_device(set_up_device(settings.training))
        with joined(settings, device, f"{identity} {code_digest()}", learners_left(run, settings)) as group:
            # The main process computes the reference statistics, which the others then find.
            if not group.main:
                group.barrier()
            ruler = Ruler.open(settings, store, extractor or project.extractor, project.cache, device)
            if group.main:
                group.barrier()
            train_run(run, settings, chosen_seed, store, ruler, experiment=name, console=Console(), group=group)
            if not group.main:
                return
    if in_process_group():
        return
    result = run.read_result()
    typer.echo(f"{name} seed {chosen_seed}: {result['outcome']} after {result['steps']} steps, in {run.path}")
    for lost in result.get("lost", []):
        learners = ", ".join(map(str, lost["learners"]))
        typer.echo(f"without learner {learners} of process {lost['rank']} from step {lost['step']} on")
    if result["outcome"] != "ok":
        typer.echo(f"reason: {result['reason']}")
        if fail_on_divergence:
            raise typer.Exit(1)


def _launch(
    run: "RunDirectory",
    params: Path,
    settings: "Settings",
    experiment: str | None,
    overrides: Sequence[str],
    seed: int,
    data: Path | None,
    extractor: Path | None,
    processes: int,
    restarts: int,
) -> None:
    """The same command in several processes, with all that was left to defaults said."""
    from gossipgan.training import check_rewirable, choose_device, keep, launch, learners_left

    if processes > settings.mixing.learners:
        raise UserError(
            f"--processes {processes}: {settings.mixing.learners} learners cannot fill them; use at most "
            f"{settings.mixing.learners}, or more mixing.learners"
        )
    given = {"--params": params, "--seed": seed, "--out": run.path, "--data": data, "--extractor": extractor}
    arguments = [text for option, value in given.items() if value is not None for text in (option, str(value))]
    chosen = ["-e", experiment] if experiment is not None else []
    command = ["train", *chosen, *(text for one in overrides for text in ("-S", one)), *arguments]
    processes = min(processes, learners_left(run, settings))  # of a run that is gone on with, some may be lost
    if settings.mixing.on_loss == "rewire" and processes > 1:
        check_rewirable(choose_device(settings.training.device))
        keep(processes, [sys.executable, "-m", "gossipgan", *command], settings.mixing.timeout)
    else:
        launch(processes, command, restarts)


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
