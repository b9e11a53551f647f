"""Pareto fronts, against a search through all pairs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gossipgan.reports.sweep.trade import nondominated, trades

from .conftest import Build, Fake

#: Few values, so that there are equal ones.
POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25)

TWO = """
space:
  mixing.kind: gossip
  mixing.learners: 4
  mixing.period: {int: [1, 16], log: true}
objectives: [{metric: is}, {metric: bytes}]
pruner: none
budget: {trials: 12}
"""


def _front(points: list[tuple[float, float]], minimize: tuple[bool, bool]) -> set[tuple[float, float]]:
    """Values that no other point matches in both and betters in one: from the definition."""
    signs = [1 if less else -1 for less in minimize]

    def betters(one: tuple[float, float], other: tuple[float, float]) -> bool:
        a, b = ([sign * value for sign, value in zip(signs, point, strict=True)] for point in (one, other))
        return a[0] <= b[0] and a[1] <= b[1] and a != b

    return {point for point in points if not any(betters(other, point) for other in points)}


@settings(deadline=None)
@given(POINTS, st.tuples(st.booleans(), st.booleans()))
def test_the_front_is_what_no_other_betters(points: list[tuple[float, float]], minimize: tuple[bool, bool]) -> None:
    found = [points[place] for place in nondominated(points, minimize=minimize)]
    assert set(found) == _front(points, minimize)
    assert len(found) == len(set(found))
    assert found == sorted(found, key=lambda point: point[0] if minimize[0] else -point[0])


def test_two_objectives_are_traded_and_a_lone_one_for_its_bytes(build: Build) -> None:
    values = [(2.0, 5e6), (3.0, 9e6), (1.5, 7e6), (2.5, 9e6), (2.9, 2e6)]
    both = build(
        [Fake("ok", pair, {"mixing.period": 1 + place}) for place, pair in enumerate(values)],
        space=TWO,
        metrics=("is_digits_2000_ema", "bytes"),
        baseline=(4.0, 0.0),
    ).record()
    (trade,) = trades(both)
    assert (trade.x, trade.y, trade.minimize_x, trade.minimize_y) == ("bytes", "is_digits_2000_ema", True, False)
    assert trade.points == {f"trial-{place}": (sent, score) for place, (score, sent) in enumerate(values)}
    assert set(trade.front) == {one.name for one in both.view.front} == {"trial-1", "trial-4"}
    assert trade.beside == {"baseline-baseline": (0.0, 4.0)}

    rates = {"optimizer.generator.lr": 1e-3, "optimizer.discriminator.lr / optimizer.generator.lr": 1.0}
    alone = [
        Fake("ok", (score,), {"lookahead.kind": "none", **rates}, about={"bytes": sent, "images": 64})
        for score, sent in values
    ]
    (trade,) = trades(build(alone).record())
    assert (trade.x, trade.front) == ("bytes", ("trial-4", "trial-0", "trial-2"))
    silent = [one._replace(about={"bytes": 0.0, "images": 64}) for one in alone]
    assert trades(build(silent).record()) == []
