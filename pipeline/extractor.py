"""DVC stage: the classifier whose features the metrics are measured on."""

from pathlib import Path

from gossipgan.cli import report_mistakes
from gossipgan.config import load_params
from gossipgan.data import Store
from gossipgan.evaluation import train_extractor
from gossipgan.runs import Project


def main() -> None:
    project = Project(Path())
    settings = load_params(project.params).shared_settings()
    store = Store.open(project.prepared)
    result = train_extractor(settings.extractor, store, project.extractor, settings.training.threads)
    print(f"extractor {settings.extractor.name}: held-out accuracy {result['held_out_accuracy']:.2%}")


if __name__ == "__main__":
    with report_mistakes():
        main()
