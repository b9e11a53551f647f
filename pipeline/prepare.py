"""DVC stage: the prepared store."""

from pathlib import Path

from gossipgan.cli import report_mistakes
from gossipgan.config import load_params
from gossipgan.data import prepare
from gossipgan.runs import Project


def main() -> None:
    project = Project(Path())
    settings = load_params(project.params).shared_settings()
    manifest = prepare(settings.data, project.prepared)
    print(f"{manifest.source}: {manifest.counts['train']} training and {manifest.counts['held_out']} held-out pictures")
    for picture in manifest.skipped:
        print(f"left out {picture.name}: {picture.reason}")


if __name__ == "__main__":
    with report_mistakes():
        main()
