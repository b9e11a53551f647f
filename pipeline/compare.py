"""DVC stage: every experiment beside the baseline, as a report and in MLflow."""

from pathlib import Path

from gossipgan.cli import report_mistakes
from gossipgan.config import load_params
from gossipgan.reports import compare
from gossipgan.runs import Project, describe_environment
from gossipgan.tracking import sync
from gossipgan.training import choose_device


def main() -> None:
    project = Project(Path())
    params = load_params(project.params)
    settings = params.shared_settings()
    experiments = list(params.experiments)
    assert params.baseline is not None
    environment = describe_environment(settings.training.threads, choose_device(settings.training.device))
    comparison = compare(
        project.root, experiments, params.seeds, params.baseline, settings.evaluation.headline, environment
    )
    headline = comparison.headlines[0]
    for name in comparison.others:
        print(f"{name}: {headline.label}: {comparison.sentence(name, headline)}")
    print(f"report: {project.reports / 'comparison.html'}")
    synced = sync(project.root.resolve(), tracking=settings.tracking, experiments=experiments, seeds=params.seeds)
    if synced.warning is not None:
        print(f"warning: {synced.warning}")


if __name__ == "__main__":
    with report_mistakes():
        main()
