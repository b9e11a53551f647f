"""What is drawn where: every trial's dot at its own numbers."""

import io
import math

import numpy as np
import pytest
from PIL import Image

from gossipgan.reports.look import style
from gossipgan.reports.sweep.drawing import Sketch, render
from gossipgan.reports.sweep.history import best_so_far, draw_best_so_far, draw_curves
from gossipgan.reports.sweep.plots import curve_scale, score_scale, wide_scale
from gossipgan.reports.sweep.record import Record
from gossipgan.reports.sweep.settings import cells, draw_map, draw_slice

from .conftest import Build, Fake, proposal

SCORES = [9.0, 12.0, 7.5, 8.0, 1e12]


@pytest.fixture(scope="module")
def record(build: Build) -> Record:
    """Five trials that are ok, one of them hopeless; then one of each other outcome, and one under way."""
    trials = [
        Fake("ok", (score,), proposal(3 + 2 * place, 0.3 + 0.1 * place, 1e-3, 1.0), {50: 2 * score, 100: score})
        for place, score in enumerate(SCORES)
    ]
    trials += [
        Fake("pruned", None, proposal(40, 0.8, 1e-2, 2.0), {50: 15.0}),
        Fake("diverged", (1e12,), proposal(None, None, 1e-1, 4.0), {50: math.nan}),
        Fake("crashed", None, proposal(None, None, 1e-3, 0.25), about={"reason": "boom"}),
        Fake("running", None, proposal(2, 0.5, 1e-3, 0.5), {50: 11.0}),
    ]
    return build(trials).record()


def _marks(sketch: Sketch) -> dict[str, tuple[float, float]]:
    return {mark.trial: (mark.x, mark.y) for _, mark in sketch.marks}


def test_best_so_far_is_the_running_minimum(record: Record) -> None:
    numbers, best = zip(*best_so_far(record), strict=True)
    assert numbers == tuple(range(9))
    assert best[:5] == tuple(np.minimum.accumulate(SCORES))
    assert set(best[5:]) == {min(SCORES)}
    with style(dark=False):
        marks = _marks(draw_best_so_far(record, wide_scale(record), False))
    assert list(marks) == [f"trial-{number}" for number in range(9)]
    assert [marks[f"trial-{number}"] for number in range(4)] == list(enumerate(SCORES[:4]))
    assert marks["trial-5"] == (5, 15.0)
    assert marks["trial-8"] == (8, 11.0)
    edge = wide_scale(record).edge
    assert [marks[f"trial-{number}"][1] for number in (4, 6, 7)] == [edge] * 3
    assert edge < 40


def test_a_slice_has_the_trials_to_which_its_setting_applies(record: Record) -> None:
    axes = {axis.name: axis for axis in record.axes}
    assert list(axes) == [
        "lookahead.kind",
        "lookahead.k",
        "lookahead.alpha",
        "optimizer.generator.lr",
        "optimizer.discriminator.lr / optimizer.generator.lr",
    ]
    assert axes["lookahead.k"].when == "lookahead.kind: joint"
    with style(dark=True):
        ks = _marks(draw_slice(record, wide_scale(record), axes["lookahead.k"], True))
        kinds = _marks(draw_slice(record, wide_scale(record), axes["lookahead.kind"], True))
        ratios = _marks(
            draw_slice(record, wide_scale(record), axes["optimizer.discriminator.lr / optimizer.generator.lr"], True)
        )
    assert {name: x for name, (x, _) in ks.items()} == {
        **{f"trial-{place}": 3 + 2 * place for place in range(5)},
        "trial-5": 40,
        "trial-8": 2,
    }
    assert [ks[f"trial-{place}"][1] for place in range(4)] == SCORES[:4]
    assert ratios["trial-7"][0] == 0.25
    rows = {"trial-2": 1, "trial-6": 0, "trial-7": 0}  # none, then joint
    assert {name: round(kinds[name][1]) for name in rows} == rows
    assert kinds["trial-2"][0] == SCORES[2]


def test_the_map_and_the_curves_have_every_trial_that_has_them(record: Record) -> None:
    axes = {axis.name: axis for axis in record.axes}
    with style(dark=False):
        marks = _marks(draw_map(record, score_scale(record), axes["lookahead.k"], axes["lookahead.alpha"], dark=False))
        curves = _marks(draw_curves(record, curve_scale(record), False))
    assert {*marks} == {f"trial-{number}" for number in (0, 1, 2, 3, 4, 5, 8)}
    assert marks["trial-1"] == (5, pytest.approx(0.4))
    assert {*curves} == {f"trial-{number}" for number in (0, 1, 2, 3, 4, 5, 8)}
    assert curves["trial-2"] == (100, 7.5)


def test_cells_hold_the_medians_of_their_trials(record: Record) -> None:
    axes = {axis.name: axis for axis in record.axes}
    draw = np.random.default_rng(0)
    ks, alphas = draw.integers(2, 51, 40).astype(float), draw.uniform(0.2, 0.9, 40)
    scores = draw.normal(10, 2, 40)
    found = cells(list(ks), list(alphas), list(scores), axes["lookahead.k"], axes["lookahead.alpha"])
    side = found.middle.shape[0]
    assert side == 3
    assert np.allclose(np.diff(np.log(found.x)), math.log(25) / side)
    for i in range(side):
        for j in range(side):
            inside = [
                score
                for k, alpha, score in zip(ks, alphas, scores, strict=True)
                if min(side - 1, int(side * math.log(k / 2) / math.log(25))) == j
                and min(side - 1, int(side * (alpha - 0.2) / 0.7)) == i
            ]
            assert found.middle[i, j] == pytest.approx(np.median(inside)) if inside else np.isnan(found.middle[i, j])


def test_spots_lie_on_the_dots_of_the_picture(record: Record) -> None:
    plot = render("best-so-far", lambda dark: draw_best_so_far(record, wide_scale(record), dark))
    picture = Image.open(io.BytesIO(plot.light)).convert("RGB")
    for spot in plot.spots[:4]:  # filled with the colour of those that are ok
        pixel = (round(spot.left / 100 * picture.width), round(spot.top / 100 * picture.height))
        assert picture.getpixel(pixel) == (0x00, 0x72, 0xB2)
    assert Image.open(io.BytesIO(plot.dark)).convert("RGB").getpixel((1, 1)) == (0x17, 0x1B, 0x21)
