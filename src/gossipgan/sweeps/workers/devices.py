"""Which GPUs each worker's trials see."""

from collections.abc import Sequence

from gossipgan.errors import UserError


def deal(devices: Sequence[str], *, per_trial: int | None, trials_per_device: int | None) -> tuple[str, ...]:
    """Places for trials, each with the GPUs that it sees as CUDA_VISIBLE_DEVICES has them; workers take them in turn.

    Args:
        devices: numbers of GPUs.
        per_trial: GPUs of one trial; None: 1.
        trials_per_device: trials on one GPU at a time; None: 1.

    Raises:
        UserError: devices that are no numbers, are named twice, or do not come out even.
    """
    named = ",".join(devices)
    if not all(one.isdecimal() for one in devices):
        raise UserError(f"--devices {named}: numbers of GPUs are wanted, such as 0,1")
    if len({int(one) for one in devices}) != len(devices):
        raise UserError(f"--devices {named}: each once; for several trials on one use --trials-per-device")
    if per_trial is not None and trials_per_device is not None:
        raise UserError("--devices-per-trial goes without --trials-per-device: a trial has several GPUs, or shares one")
    size = per_trial or 1
    if len(devices) % size:
        raise UserError(f"--devices {named}: {len(devices)} cannot be dealt in groups of {size} (--devices-per-trial)")
    groups = [",".join(devices[first : first + size]) for first in range(0, len(devices), size)]
    return (*groups * (trials_per_device or 1),)
