"""Pictures of topologies: every kind is drawn, numbers don't overlap, and the bytes are the schedule's alone."""

import io
from typing import Any

import matplotlib
import numpy as np
import pytest
from PIL import Image

from gossipgan.mixing import Link, build_schedule
from gossipgan.mixing.summary import Summary, summarize
from gossipgan.reports import graph_plot
from gossipgan.reports.graph_plot import png


def summary(topology: str, learners: int, **options: Any) -> Summary:
    return summarize(build_schedule(topology, learners, **options), 1, 0.1, 1000, Link(1e8, 1e-3))


@pytest.mark.parametrize(
    ("topology", "learners"),
    [
        ("ring", 1),
        ("ring", 2),
        ("ring", 1000),
        ("line", 9),
        ("line", 50),
        ("star", 12),
        ("torus", 16),
        ("hypercube", 16),
        ("hypercube", 64),
        ("exponential", 8),
        ("one-peer-exponential", 1000),
        ("random-matching", 10),
        ("small-world", 100),
    ],
)
def test_a_graph_is_drawn(topology: str, learners: int) -> None:
    with Image.open(io.BytesIO(png(summary(topology, learners)))) as picture:
        pixels = np.asarray(picture.convert("RGB"))

    assert min(pixels.shape[:2]) > 250
    dots = (pixels == (0x00, 0x72, 0xB2)).all(axis=2)
    assert dots.any()
    # Nothing is cut off at the edges.
    assert (pixels[[0, -1]] == 255).all()
    assert (pixels[:, [0, -1]] == 255).all()


def test_springs_draw_a_graph_of_one_s_own(tmp_path: Any) -> None:
    file = tmp_path / "edges.txt"
    file.write_text("\n".join(f"{i} {(i - 1) // 2}" for i in range(1, 150)))

    first, second = (png(summary("custom", 150, file=file)) for _ in range(2))

    assert first == second


def test_a_person_s_matplotlibrc_changes_nothing() -> None:
    plain = png(summary("ring", 8))
    with matplotlib.rc_context({"figure.facecolor": "red", "font.size": 40, "lines.linewidth": 9}):
        assert png(summary("ring", 8)) == plain


@pytest.mark.parametrize(
    ("topology", "learners"),
    [
        ("ring", 30),
        ("ring", 64),
        ("ring", 333),
        ("star", 30),
        ("line", 60),
        ("torus", 100),
        ("one-peer-exponential", 24),
    ],
)
def test_numbers_do_not_overlap(topology: str, learners: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    savefig = graph_plot.Figure.savefig

    def keep(figure: Any, *arguments: Any, **options: Any) -> None:
        savefig(figure, *arguments, **options)
        drawn.append(figure)

    monkeypatch.setattr(graph_plot.Figure, "savefig", keep)
    png(summary(topology, learners))

    for axes in drawn[0].axes:
        boxes = [text.get_window_extent() for text in axes.texts]
        assert not any(a.overlaps(b) for place, a in enumerate(boxes) for b in boxes[:place])
