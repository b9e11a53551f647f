"""One run directory in MLflow, wherever it lies."""

from pathlib import Path

from gossipgan.config import TrackingSettings
from gossipgan.runs import Project, RunDirectory
from gossipgan.tracking.run import mirror_run
from gossipgan.tracking.sync import mirror_published


def show_run(run: RunDirectory, *, tracking: TrackingSettings, root: Path) -> str | None:
    """Show a run that has ended in MLflow, as it is now.

    There is one view of a run. That of the pipeline's runs is made of ``root/runs``, with their scores and their
    parent; any other run is shown by itself.

    Args:
        run: its directory.
        tracking: where to; with ``mlflow: false`` nothing is done.
        root: the folder of ``params.yaml``.

    Returns:
        A line where it is not shown: MLflow cannot be written to, or shows this run from another directory. None
        otherwise.

    Raises:
        UserError: a file of a run is damaged.
    """
    if not tracking.mlflow:
        return None
    _, identity = run.read_settings()
    experiment, seed = str(identity["experiment"]), int(identity["seed"])
    published = Project(root).run(experiment, seed)
    if run.path.resolve() == published.path.resolve():
        return mirror_published(published, tracking=tracking, root=root).warning
    if published.result.exists() and published.read_settings()[1]["fingerprint"] == identity["fingerprint"]:
        return f"not in MLflow, which shows this run from {published.path}"
    return mirror_run(run, {}, tracking=tracking, root=root, experiment=experiment, seed=seed).warning
