"""Pictures that are read: nothing is cut off."""

import pytest
from matplotlib.figure import Figure

from gossipgan.reports.plots import add_legend


@pytest.mark.parametrize("longest", [5, 25, 60])
def test_a_legend_of_long_names_stays_within_the_picture(longest: int) -> None:
    figure = Figure(figsize=(5.6, 3.7), layout="constrained")
    axes = figure.add_subplot()
    for number in range(6):
        axes.plot([0, 1], [number, number], label=f"{number}{'x' * longest}")
    add_legend(figure, most_columns=3)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    extent = legend.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width
    columns = len({round(text.get_window_extent().x0) for text in legend.get_texts()})
    assert columns == {5: 3, 25: 2, 60: 1}[longest]
