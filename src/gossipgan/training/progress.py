"""What a person sees while a run trains: a bar in a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

#: Seconds between plain lines.
_PLAIN_INTERVAL = 10.0


class Report(Protocol):
    """Told about the run after every journal entry of the losses."""

    def __call__(self, step: int, losses: dict[str, float], scores: dict[str, float]) -> None: ...


@contextmanager
def report_progress(title: str, start: int, steps: int, console: Console, *, shown: bool = True) -> Iterator[Report]:
    """A progress bar, or plain lines where the console is no terminal.

    Args:
        title: the run's name.
        start: iterations done before (of a resumed run).
        steps: iterations in all.
        console: where to print.
        shown: whether this is the process of several that shows anything.
    """
    if not shown:
        yield lambda step, losses, scores: None
        return
    began = time.monotonic()

    def speed(step: int) -> float:
        return (step - start) / max(time.monotonic() - began, 1e-9)

    if not console.is_terminal:
        last = began - _PLAIN_INTERVAL

        def plain(step: int, losses: dict[str, float], scores: dict[str, float]) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < _PLAIN_INTERVAL and step < steps:
                return
            last = now
            rate = speed(step)
            left = (steps - step) / max(rate, 1e-9)
            console.print(
                f"{title}: step {step}/{steps}, {rate:.1f} steps/s, {left:.0f} s left, {_describe(losses, scores)}",
                soft_wrap=True,
                highlight=False,
            )

        yield plain
        return

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[text]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=steps, completed=start, text="")

        def bar(step: int, losses: dict[str, float], scores: dict[str, float]) -> None:
            progress.update(task, completed=step, text=f"{speed(step):.1f} steps/s, {_describe(losses, scores)}")

        yield bar


def _describe(losses: dict[str, float], scores: dict[str, float]) -> str:
    parts = [f"D {losses['loss_d']:.3f}", f"G {losses['loss_g']:.3f}"]
    return ", ".join(parts + [f"{name} {value:.2f}" for name, value in scores.items()])
