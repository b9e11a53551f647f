"""Plot of a confirmation: every fresh seed's score, and the interval of each mean."""

from gossipgan.reports.look import COLOURS, INK
from gossipgan.reports.sweep.drawing import Sketch, metric_label, new_figure, show_metric
from gossipgan.reports.sweep.record import Record
from gossipgan.reports.sweep.scale import Scale


def draw_confirmation(record: Record, dark: bool) -> Sketch:
    """A row for each candidate and baseline."""
    assert record.confirmation is not None
    found = record.confirmation
    arms = (*found.candidates, *found.baselines)
    figure = new_figure("On fresh seeds", height=1.3 + 0.46 * len(arms))
    axes = figure.add_subplot()
    sketch = Sketch(figure, f"{metric_label(found.metric)} at fresh seeds, of each candidate and baseline")
    scores = [score for arm in arms for score in arm.scores.values() if score is not None]
    ends = [end for arm in arms for end in (arm.mean, arm.low, arm.high) if end is not None]
    scale = Scale.of(scores, minimize=found.minimize, keep=ends)
    show_metric(axes, found.metric, scale, side="x")
    for row, arm in enumerate(arms):
        colour = INK[dark] if arm in found.baselines else COLOURS[dark][1]
        if arm.low is not None and arm.high is not None:
            low, high = max(arm.low, scale.low), min(arm.high, scale.high)
            axes.plot([low, high], [row, row], color=colour, linewidth=5, alpha=0.28, solid_capstyle="butt", zorder=2)
        if arm.mean is not None:
            axes.plot([arm.mean] * 2, [row - 0.24, row + 0.24], color=colour, linewidth=2.4, zorder=3)
        values = [scale.place(score) for score in arm.scores.values() if score is not None]
        axes.scatter(values, [row] * len(values), color=colour, s=28, alpha=0.8, linewidth=0, zorder=4)
        for value in values:
            sketch.mark(axes, arm.name, value, row)
    axes.set_yticks(range(len(arms)), [arm.name for arm in arms])
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    return sketch
