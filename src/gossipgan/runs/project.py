"""Where the pipeline keeps things: the folder of ``params.yaml``."""

from pathlib import Path

from gossipgan.runs.directory import RunDirectory


class Project:
    """Paths of a project.

    ::

        params.yaml, dvc.yaml, dvc.lock
        data/prepared/                                   the store
        extractor/                                       the classifier
        work/<experiment>/seed-<seed>/<fingerprint>/     run directories as they train
        runs/<experiment>/seed-<seed>/                   finished runs, without what differs between executions
        metrics/<experiment>/seed-<seed>.json            their final scores
        reports/                                         the comparison
        cache/                                           reference statistics
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.params = root / "params.yaml"
        self.prepared = root / "data" / "prepared"
        self.extractor = root / "extractor"
        self.runs = root / "runs"
        self.reports = root / "reports"
        self.cache = root / "cache"

    def run(self, experiment: str, seed: int) -> RunDirectory:
        """A finished run, as DVC keeps it."""
        return RunDirectory(self.runs / experiment / f"seed-{seed}")

    def work(self, experiment: str, seed: int, fingerprint: str) -> RunDirectory:
        """A run as it trains: with checkpoints, clock and environment."""
        return RunDirectory(self.root / "work" / experiment / f"seed-{seed}" / fingerprint[:12])

    def metrics(self, experiment: str, seed: int) -> Path:
        """The final scores of a run."""
        return self.root / "metrics" / experiment / f"seed-{seed}.json"
