"""What a sweep stands on: its project's data, extractor and devices, checked before anything starts."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gossipgan.errors import UserError
from gossipgan.sweeps.search.file import Sweep


class Grounds(NamedTuple):
    """What scores are told by.

    Attributes:
        metrics: the objectives' full names.
        data_digest: of the prepared store.
        extractor: hash of the extractor.
    """

    metrics: list[str]
    data_digest: str
    extractor: str


def check_project(sweep: Sweep, root: Path, devices: Sequence[str], processes: int) -> Grounds:
    """See that every run finds its data, extractor and device.

    The reference statistics are computed here, once, and found by all.

    Args:
        root: the folder of ``params.yaml``.
        devices: what trials see, such as ``0`` or ``0,1``; empty: all GPUs.
        processes: of each run of a trial.

    Raises:
        UserError: in one line, what is missing or does not go together.
    """
    import torch

    from gossipgan.data import Store, check_prepared
    from gossipgan.evaluation import Ruler
    from gossipgan.runs import Project
    from gossipgan.training import choose_device, set_up_device

    project = Project(root)
    store = Store.open(project.prepared)
    check_prepared(store, sweep.base.data)
    check_devices(devices)
    learners = sweep.most("mixing.learners")
    if processes > learners:
        raise UserError(f"{sweep.path}: processes: {processes}, but no trial has more than {learners} learners")
    device = choose_device(sweep.base.training.device)
    seen = len(devices[0].split(",")) if devices else torch.cuda.device_count()
    if device.type == "cuda" and processes > seen:
        raise UserError(f"{sweep.path}: processes: {processes}, each with a GPU of its own, but a trial sees {seen}")
    ruler = Ruler.open(sweep.base, store, project.extractor, project.cache, set_up_device(sweep.base.training))
    metrics = [
        one.metric if one.iterate is None else ruler.metric_name(one.metric, one.iterate) for one in sweep.objectives
    ]
    return Grounds(metrics, store.digest, ruler.extractor_identity)


def check_devices(devices: Sequence[str]) -> None:
    """See that GPUs are there.

    Args:
        devices: such as ``0`` or ``0,1`` each.

    Raises:
        UserError: the first that is not.
    """
    import torch

    for number in ",".join(devices).split(",") if devices else ():
        if int(number) >= torch.cuda.device_count():
            raise UserError(f"--devices {number}: not there: {torch.cuda.device_count()} GPUs found")
