"""What a person sees while a sweep runs: a live table in a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gossipgan.sweeps.study import OPEN, Show, SweepView, TrialView

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


@contextmanager
def report_sweep(console: "Console") -> Iterator[Show]:
    """Show a sweep: in a terminal a table that is redrawn, elsewhere a line for each trial that ends."""
    if not console.is_terminal:
        yield _Plain(console)
        return
    live = _Table(console)
    try:
        yield live
    finally:
        live.close()


class _Plain:
    def __init__(self, console: "Console") -> None:
        self._console = console
        self._said: set[str] | None = None

    def __call__(self, sweep: SweepView) -> None:
        ended = [one for one in (*sweep.baselines, *sweep.trials) if one.state not in OPEN and one.source is None]
        if self._said is None:  # what had ended before is no news
            self._said = {one.name for one in ended}
        for one in ended:
            if one.name not in self._said:
                self._said.add(one.name)
                self._console.print(describe_trial(one), soft_wrap=True, highlight=False, markup=False)


class _Table:
    def __init__(self, console: "Console") -> None:
        from rich.live import Live

        # Begun with the first look at the sweep, when its workers' fork server is there already: a process that
        # has this thread is not to be forked.
        self._live = Live(console=console, refresh_per_second=2)

    def __call__(self, sweep: SweepView) -> None:
        self._live.start()
        self._live.update(draw(sweep))

    def close(self) -> None:
        self._live.stop()


def draw(sweep: SweepView) -> "RenderableType":
    """A sweep's running trials, its best against the baseline, and its outcomes."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{sweep.name}: {sweep.metric}", title_justify="left", expand=False)
    for column, justify in (("trial", "left"), ("step", "right"), ("score", "right"), ("left", "right")):
        table.add_column(column, justify="right" if justify == "right" else "left")
    table.add_column("settings", overflow="fold")
    for one in sweep.running:
        table.add_row(
            one.name,
            f"{one.step}/{one.steps}",
            _number(one.score),
            "" if one.left is None else duration(one.left),
            describe_settings(one),
        )
    return Group(table, *(Text(line) for line in summary(sweep)))


def summary(sweep: SweepView) -> list[str]:
    """Outcomes, the best and the baselines, a line each."""
    counted = ", ".join(f"{count} {state}" for state, count in sweep.counts.items()) or "none yet"
    of = "" if sweep.budget is None else f" of {sweep.budget}"
    begun = sum(count for state, count in sweep.counts.items() if state != "waiting")
    lines = [f"trials: {begun}{of}: {counted}; {duration(sweep.spent)}"]
    best, front = sweep.best, sweep.front
    if best is not None and len(sweep.objectives) == 1:
        lines.append(f"best: {best.name}: {describe_values(best, sweep)}; {describe_settings(best)}")
    elif best is not None:
        ends = [front[0], front[-1]] if len(front) > 1 else [best]
        lines.append(
            f"none better in all: {len(front)}: "
            + " to ".join(f"{one.name} ({describe_values(one, sweep)})" for one in ends)
        )
    for one in sweep.baselines:
        against = ""
        if best is not None and best.score is not None and one.state == "ok" and one.score is not None:
            gain = one.score - best.score if sweep.minimize else best.score - one.score
            against = f"; the best is {abs(gain):.4g} {'better' if gain > 0 else 'worse'}"
        score = "" if one.score is None else f" {_number(one.score)}"
        lines.append(f"{one.name}: {one.state}{score}{against}")
    return lines


def describe_trial(one: TrialView) -> str:
    """A trial in a line."""
    parts = [f"{one.name}: {one.state}"]
    if one.score is not None:
        others = [f"{value:,.10g}" for value in (one.values or ())[1:]]
        parts.append(", ".join([_number(one.score), *others]))
    if one.duplicate_of is not None:
        parts.append(f"as trial-{one.duplicate_of}")
    if one.settings:
        parts.append(f"({describe_settings(one)})")
    parts.append(duration(one.seconds))
    if one.reason:
        parts.append(f"- {one.reason}")
    return " ".join(parts)


def describe_values(one: TrialView, sweep: SweepView) -> str:
    """What a trial came to by each objective."""
    return ", ".join(
        f"{objective.metric} {value:,.0f}" if objective.metric == "bytes" else f"{objective.metric} {_number(value)}"
        for objective, value in zip(sweep.objectives, one.values or (), strict=True)
    )


def describe_settings(one: TrialView) -> str:
    """What was proposed."""
    return ", ".join(
        f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in one.settings.items()
    )


def duration(seconds: float) -> str:
    """Such as ``1:02:03``, or ``2:03``."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}"
