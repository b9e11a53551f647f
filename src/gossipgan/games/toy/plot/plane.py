"""Where the players went, in the plane of x and y."""

import numpy as np
from matplotlib.figure import FigureBase

from gossipgan.games.toy.game import Array
from gossipgan.games.toy.lab import Outcome

#: After Okabe and Ito; one a seed.
_SEEDS = ("#0072b2", "#d55e00", "#009e73")
_CYCLE, _SOLUTION = "#5b6470", "#000000"

#: A path is drawn until it is this many times as far from the solution as all that is of interest.
_FAR = 3.0


def draw(figure: FigureBase, outcome: Outcome) -> None:
    """The path of the first seeds, their starts, the solutions, and the flow's limit cycle where it is known."""
    paths = outcome.trajectory.path
    assert paths is not None
    axes = figure.add_subplot()
    seeds = paths.shape[1]
    solutions = np.broadcast_to(outcome.game.solution[:seeds, :, 0], (seeds, 2))
    starts = np.linalg.norm(paths[0] - solutions, axis=-1).max()
    circle = 0.0
    if outcome.limit_cycle is not None:
        circle = float(np.linalg.norm(outcome.limit_cycle - solutions[0], axis=-1).max())
    furthest = _FAR * max(starts, circle) or np.inf
    for seed in range(seeds):
        path = _until_far(paths[:, seed], solutions[seed], furthest)
        colour = _SEEDS[seed]
        axes.plot(path[:, 0], path[:, 1], color=colour, linewidth=0.7, alpha=0.8, label=f"seed {seed}")
        axes.plot(*path[0], color=colour, marker="o", markersize=5, linestyle="none", label=_once(seed, "start"))
    if outcome.limit_cycle is not None:
        closed = np.vstack([outcome.limit_cycle, outcome.limit_cycle[:1]])
        axes.plot(*closed.T, color=_CYCLE, linestyle="--", linewidth=1.6, label="limit cycle of the flow")
    shown = np.unique(solutions, axis=0)
    axes.plot(*shown.T, color=_SOLUTION, marker="*", markersize=11, linestyle="none", label="solution")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x, which minimizes")
    axes.set_ylabel("y, which maximizes")
    axes.grid(visible=True, color="#d9dde3")
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)


def _until_far(path: Array, solution: Array, furthest: float) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        far = ~(np.linalg.norm(path - solution, axis=-1) < furthest)
    return path[: max(1, int(far.argmax()))] if far.any() else path


def _once(seed: int, label: str) -> str | None:
    """A label in the legend for the first seed only."""
    return label if seed == 0 else None
