"""DVC stage: score every iterate of one finished run."""

import sys
from pathlib import Path

from gossipgan.cli import report_mistakes
from gossipgan.config import load_params
from gossipgan.data import Store
from gossipgan.evaluation import Ruler, evaluate_run
from gossipgan.runs import Project, write_json
from gossipgan.training import set_up_device


def main(experiment: str, seed: int) -> None:
    project = Project(Path())
    settings = load_params(project.params).settings(experiment)
    device = set_up_device(settings.training)
    ruler = Ruler.open(settings, Store.open(project.prepared), project.extractor, project.cache, device)
    scores = evaluate_run(project.run(experiment, seed), ruler, settings)
    write_json(project.metrics(experiment, seed), scores)
    headline = ruler.metric_name("fid", settings.evaluation.headline)
    print(f"{experiment} seed {seed}: {headline} {scores.get(headline)}")


if __name__ == "__main__":
    with report_mistakes():
        main(sys.argv[1], int(sys.argv[2]))
