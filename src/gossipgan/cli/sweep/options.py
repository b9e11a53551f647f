"""Options that several commands of ``gossipgan sweep`` share, and those of a start, which are given as one."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import typer

from gossipgan.cli.options import PARAMS, Params
from gossipgan.errors import UserError

#: Who starts workers.
Launcher = Literal["local", "slurm"]

Name = Annotated[str, typer.Argument(metavar="NAME", help="The sweep: its file's name, with -2, -3, ... for forks.")]
MaybeName = Annotated[str | None, typer.Argument(metavar="[NAME]", help="The sweep; default: all of them.")]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        envvar="GOSSIPGAN_STORAGE",
        help="sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME; default: sweeps.db beside the params file.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Devices = Annotated[
    str | None,
    typer.Option("--devices", metavar="0,1", help="GPUs, dealt to the workers in turn; default: each sees all."),
]
PerTrial = Annotated[
    int | None, typer.Option("--devices-per-trial", min=1, metavar="K", help="GPUs of one trial; default: 1.")
]
PerDevice = Annotated[
    int | None,
    typer.Option("--trials-per-device", min=1, metavar="M", help="Trials on one GPU at a time; default: 1."),
]


class Start(NamedTuple):
    """What a start of a sweep can be told, in the order in which ``--help`` shows it."""

    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, metavar="N", help="Trials at a time; default: as many as --devices has places."
        ),
    ] = None
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, metavar="N", help="Trials in all, instead of the file's budget.")
    ] = None
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="TIME", help="Stop after so long, such as 90s, 15m or 2h.")
    ] = None
    storage: Storage = None
    devices: Devices = None
    devices_per_trial: PerTrial = None
    trials_per_device: PerDevice = None
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes", min=1, metavar="N", help="Host a trial's learners in so many processes; default: the file's."
        ),
    ] = None
    fork: Annotated[
        bool,
        typer.Option(
            "--fork", help="Where the space has changed: begin a new study, warm-started with the old trials."
        ),
    ] = False
    launcher: Annotated[
        Launcher,
        typer.Option("--launcher", help="Workers are processes of this machine, or jobs of a Slurm cluster."),
    ] = "local"
    slurm: Annotated[
        list[str] | None,
        typer.Option(
            "--slurm",
            metavar="KEY=VALUE",
            help="An option of sbatch for the jobs, such as partition=gpu or gpus-per-node=1; may be given again.",
        ),
    ] = None
    params: Params = PARAMS


def takes_start(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a start; it is handed them as one, in its last argument, ``start``.

    Args:
        without: names of those that make no sense for it.
    """
    names = [name for name in Start._fields if name not in without]
    kinds = get_type_hints(Start, include_extras=True)
    options = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=Start._field_defaults[name], annotation=kinds[name]
        )
        for name in names
    ]

    def spread(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def spread_out(**given: Any) -> None:
            start = Start(**{name: given.pop(name) for name in names})
            command(**given, start=start)

        *own, _ = inspect.signature(command).parameters.values()
        spread_out.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
        return spread_out

    return spread


def places(devices: str | None, per_trial: int | None, trials_per_device: int | None) -> tuple[str, ...]:
    """What each worker's trials see of the GPUs, taken in turn; empty: all see all of them."""
    from gossipgan.sweeps import deal

    if devices is not None:
        return deal(
            [one.strip() for one in devices.split(",")], per_trial=per_trial, trials_per_device=trials_per_device
        )
    if per_trial is not None or trials_per_device is not None:
        raise UserError("--devices-per-trial and --trials-per-device go with --devices, such as --devices 0,1")
    return ()
