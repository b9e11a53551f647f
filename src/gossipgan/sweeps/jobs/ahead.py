"""Experiments of the params file trained and scored several at a time, ahead of the pipeline's stages."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gossipgan.config import ParamsFile, fingerprint
from gossipgan.runs import Project, alone, mark_ahead, read_ahead
from gossipgan.sweeps.jobs.jobs import Job, JobsView, Ruling, ShowJobs, forking_runs, run_jobs
from gossipgan.sweeps.search import check_devices

#: New starts of a run whose process was killed or could not write.
_RETRIES = 2


class _Ground(NamedTuple):
    """What all runs share: the data's digest, the metric that people are shown, and where runs train."""

    digest: str
    metric: str
    device: str
    threads: int


def train_ahead(
    params: ParamsFile,
    runs: Sequence[tuple[str, int]],
    workers: int | None,
    devices: tuple[str, ...],
    show: ShowJobs,
) -> None:
    """Train and score runs in ``work/``, and leave them for the stages; those that are left there already stay.

    Stopped in any way, the same call goes on with it. Must be called in the main thread, before this process has
    threads or a device: runs are forked from it.

    Args:
        runs: experiments and seeds.
        workers: runs at a time; None: one for each of the devices, or on a CPU as many as have processors for
            their threads.
        devices: numbers of GPUs, taken by workers in turn; empty: all that are there.

    Raises:
        UserError: no extractor or data, a device that is not there, or a run could not be made.
    """
    project = Project(params.path.parent.resolve())
    with forking_runs() as nursery, alone(project.root / "work", "gossipgan repro"):
        ground = _measure_reference(project, params)
        wanted = [_wanted(project, params, name, seed, ground.digest) for name, seed in runs]
        jobs = [job for job in wanted if job is not None]
        dealt = _deal(devices, ground)
        ruling = Ruling(
            root=project.root,
            metric=ground.metric,
            from_journal=False,
            workers=workers or len(dealt) or max(1, len(os.sched_getaffinity(0)) // ground.threads),
            retries=_RETRIES,
            devices=dealt,
        )

        def look(now: JobsView) -> None:
            for one in now.news:
                _leave(project, one.job)
            show(now)

        run_jobs(jobs, ruling, nursery, look)


def _leave(project: Project, job: Job) -> None:
    if job.scores.exists():  # else it could not be scored: the stage says why
        mark_ahead(job.run, project.extractor, json.loads(job.scores.read_text()))
        job.scores.unlink()


def clear_ahead(root: Path) -> None:
    """Let the pipeline's stages make their runs themselves again."""
    for left in root.glob("work/*/seed-*/*/ahead.json"):
        left.unlink()


def _deal(devices: tuple[str, ...], ground: _Ground) -> tuple[str, ...]:
    import torch

    check_devices(devices)
    if ground.device == "cuda" and not devices:
        # Of a GPU that this process does not see, such as on a shared machine, its runs are to see nothing, either.
        seen = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(torch.cuda.device_count())))
        return tuple(seen.split(","))
    return devices


def _measure_reference(project: Project, params: ParamsFile) -> _Ground:
    """Compute what all runs are measured by, once."""
    from gossipgan.data import Store, check_prepared
    from gossipgan.evaluation import Ruler
    from gossipgan.training import set_up_device

    settings = params.shared_settings()
    store = Store.open(project.prepared)
    check_prepared(store, settings.data)
    device = set_up_device(settings.training)
    ruler = Ruler.open(settings, store, project.extractor, project.cache, device)
    shown = {"prc": "precision"}.get(settings.evaluation.metrics[0], settings.evaluation.metrics[0])
    metric = ruler.metric_name(shown, settings.evaluation.headline)
    return _Ground(store.digest, metric, device.type, settings.training.threads)


def _wanted(project: Project, params: ParamsFile, experiment: str, seed: int, digest: str) -> Job | None:
    """A run that is still to be made; None where it is left for the stages already."""
    settings = params.settings(experiment)
    identity = fingerprint(settings, seed, digest)
    run = project.work(experiment, seed, identity)
    if read_ahead(run, project.extractor) is not None:
        return None
    job = Job(experiment, settings, seed, identity, run.path)
    if run.result.exists():  # of an earlier execution: DVC asks for a new one
        shutil.rmtree(run.path)
        job.scores.unlink(missing_ok=True)
    return job
