"""DVC stage: score every iterate of one finished run.

Scores that ``gossipgan repro`` has measured ahead of this stage are taken over, once.
"""

import sys
from pathlib import Path

from gossipgan.cli import report_mistakes
from gossipgan.config import Settings, fingerprint, load_params
from gossipgan.data import Store
from gossipgan.runs import Project, RunDirectory, read_ahead, write_json


def main(experiment: str, seed: int) -> None:
    project = Project(Path())
    settings = load_params(project.params).settings(experiment)
    store = Store.open(project.prepared)
    live = project.work(experiment, seed, fingerprint(settings, seed, store.digest))
    published = project.run(experiment, seed)
    scores = read_ahead(live, project.extractor)
    if scores is None or live.result.read_bytes() != published.result.read_bytes():
        scores = _evaluate(project, published, settings, store)
    write_json(project.metrics(experiment, seed), scores)
    live.ahead.unlink(missing_ok=True)
    end = f"_{settings.evaluation.samples}_{settings.evaluation.headline}"
    headline = next((name for name in scores if name.startswith("fid_") and name.endswith(end)), "outcome")
    print(f"{experiment} seed {seed}: {headline} {scores[headline]}")


def _evaluate(project: Project, run: RunDirectory, settings: Settings, store: Store) -> dict[str, float | str]:
    from gossipgan.evaluation import Ruler, evaluate_run
    from gossipgan.training import set_up_device

    device = set_up_device(settings.training)
    ruler = Ruler.open(settings, store, project.extractor, project.cache, device)
    return evaluate_run(run, ruler, settings)


if __name__ == "__main__":
    with report_mistakes():
        main(sys.argv[1], int(sys.argv[2]))
