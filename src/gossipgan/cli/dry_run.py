"""``gossipgan train --dry-run``: what an experiment takes, before anything is prepared or trained."""

import json
from typing import TYPE_CHECKING, Any

import typer

from gossipgan.config import Settings
from gossipgan.errors import UserError

if TYPE_CHECKING:
    from gossipgan.training.dry_run import DryRun


def refuse_options(options: dict[str, object]) -> None:
    """Say of the first option that was given that it does not go with ``--dry-run``.

    Raises:
        UserError: one was.
    """
    for option, given in options.items():
        if given:
            raise UserError(f"{option}: --dry-run reads no data and writes nothing; leave one of the two out")


def print_dry_run(name: str, settings: Settings, seed: int, as_json: bool) -> None:
    """Play a few iterations of an experiment, and print what it takes.

    Raises:
        UserError: the device of the settings is not there, or has not enough memory.
    """
    from gossipgan.runs import describe_environment
    from gossipgan.training import set_up_device
    from gossipgan.training.dry_run import dry_run

    device = set_up_device(settings.training)
    where = describe_environment(settings.training.threads, device)
    result = dry_run(settings, seed, device)
    if as_json:
        typer.echo(json.dumps(_as_json(name, where, result), indent=2))
        return
    place = f"CPU, threads: {where['threads']}" if device.type == "cpu" else where["device"]
    typer.echo(f"dry run of {name} on {place}: nothing is trained or written")
    for heading, line in _lines(result):
        typer.echo(f"{heading:12}{line}")


def _lines(result: "DryRun") -> list[tuple[str, str]]:
    memory = result.memory
    parameters = result.generator_parameters, result.discriminator_parameters
    held = ", ".join(
        f"{part} {_mebibytes(getattr(memory, part))}"
        for part in ("players", "gradients", "optimizers", "lookahead", "averages")
    )
    peak = [] if memory.device_peak is None else [("", f"{_mebibytes(memory.device_peak)} MiB: peak on the GPU")]
    error = "" if result.seconds_error is None else f", ± {result.seconds_error / result.seconds:.1%}"
    many = [("learners", f"{result.learners}; by one, unless in all")] if result.learners > 1 else []
    left_out = "exchanges, scoring," if many else "scoring,"
    return [
        *many,
        ("parameters", f"G {parameters[0]:,}, D {parameters[1]:,}, together {sum(parameters) / 1e6:.2f} M"),
        ("memory", f"{_mebibytes(memory.held)} MiB held: {held}"),
        ("", f"{_mebibytes(memory.activations)} MiB at most kept for a backward pass"),
        *peak,
        (
            "operations",
            f"{result.operations:.3g} an iteration, {result.all_operations:.3g} in all "
            "(of convolutions and matrix products, forward and backward)",
        ),
        (
            "time",
            f"{result.seconds:.3g} s an iteration (mean of {result.timed}{error}), {_duration(result.all_seconds)} "
            f"in all, {left_out} samples and checkpoints not included",
        ),
        ("pictures", f"{result.pictures:,} seen in {result.steps:,} iterations, {result.batch:,} in a batch"),
    ]


def _as_json(name: str, where: dict[str, str | int], result: "DryRun") -> dict[str, Any]:
    memory = result.memory
    return {
        "experiment": name,
        "device": where["device"],
        "threads": where["threads"],
        "parameters": {"generator": result.generator_parameters, "discriminator": result.discriminator_parameters},
        "memory_bytes": {
            "held": memory.held,
            "players": memory.players,
            "gradients": memory.gradients,
            "optimizers": memory.optimizers,
            "lookahead": memory.lookahead,
            "averages": memory.averages,
            "activations": memory.activations,
            "device_peak": memory.device_peak,
        },
        "operations": {"iteration": result.operations, "all": result.all_operations},
        "seconds_without_scoring": {
            "iteration": result.seconds,
            "iteration_error": result.seconds_error,
            "iterations_timed": result.timed,
            "all": result.all_seconds,
        },
        "steps": result.steps,
        "batch": result.batch,
        "learners": result.learners,
        "pictures": result.pictures,
    }


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.1f}"


def _duration(seconds: float) -> str:
    """In the two largest units: ``3 d 4 h``, ``12 min 5 s``."""
    whole = round(seconds)
    units = [("d", 86400), ("h", 3600), ("min", 60), ("s", 1)]
    parts: list[tuple[int, str]] = []
    for unit, size in units:
        parts.append((whole // size, unit))
        whole %= size
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count or first == len(parts) - 1)
