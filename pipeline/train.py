"""DVC stage: train one experiment at one seed, in ``work/``, and publish the finished run to ``runs/``.

An interrupted run goes on from its last checkpoint. A finished one, or one begun by other code, is started over: DVC
runs this stage only when something that matters has changed. A run that ``gossipgan repro`` has made ahead of this
stage is published as it is.
"""

import shutil
import sys
from pathlib import Path

from gossipgan.cli import report_mistakes
from gossipgan.config import Settings, fingerprint, load_params
from gossipgan.data import Store
from gossipgan.runs import Project, RunDirectory, publish, read_ahead


def main(experiment: str, seed: int) -> None:
    project = Project(Path())
    settings = load_params(project.params).settings(experiment)
    store = Store.open(project.prepared)
    live = project.work(experiment, seed, fingerprint(settings, seed, store.digest))
    if read_ahead(live, project.extractor) is None:
        _train(project, live, settings, seed, store, experiment)
    publish(live, project.run(experiment, seed))
    result = live.read_result()
    print(f"{experiment} seed {seed}: {result['outcome']} after {result['steps']} steps")


def _train(project: Project, live: RunDirectory, settings: Settings, seed: int, store: Store, experiment: str) -> None:
    from rich.console import Console

    from gossipgan.evaluation import Ruler
    from gossipgan.training import resumable, set_up_device, train

    if live.path.exists() and not resumable(live):
        shutil.rmtree(live.path)
    device = set_up_device(settings.training)
    ruler = Ruler.open(settings, store, project.extractor, project.cache, device)
    train(live, settings, seed, store, ruler, experiment=experiment, console=Console())


if __name__ == "__main__":
    with report_mistakes():
        main(sys.argv[1], int(sys.argv[2]))
