"""What a person sees while known runs are made: a bar in a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gossipgan.sweeps.jobs import Ended, JobsView, ShowJobs

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def report_jobs(console: "Console") -> Iterator[ShowJobs]:
    """Show runs: a line for each that ends, and in a terminal a bar of all iterations below them."""
    report = _Report(console)
    try:
        yield report
    finally:
        report.close()


class _Report:
    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = console
        self._said = False
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=None), TimeRemainingColumn(), console=console
        )
        self._task = self._bar.add_task("")

    def __call__(self, now: JobsView) -> None:
        if not self._said:
            self._said = True
            if now.ended:
                self._say(f"{now.ended} of {now.jobs} runs had ended before")
            if self._console.is_terminal:
                self._bar.start()  # not before: a process that has this thread is not to be forked
        for ended in now.news:
            self._say(describe_ended(ended))
        self._bar.update(self._task, total=now.steps, completed=now.step, description=f"{now.ended} of {now.jobs} runs")

    def close(self) -> None:
        if self._bar.live.is_started:
            self._bar.stop()

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, highlight=False, markup=False)


def describe_ended(ended: Ended) -> str:
    """A run that has ended, in a line."""
    came_to = f"diverged - {ended.reason}" if ended.score is None else f"{ended.score:.4f}"
    return f"{ended.job.name} seed {ended.job.seed}: {came_to}"
