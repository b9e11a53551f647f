"""Two games in the plane that are almost bilinear, and whose flow is drawn to a cycle that holds no stationary point.

    f(x, y) = x (y - c) + P(x) - Q(y)

    almost-bilinear   c = 0,    P = 0,  Q' = -eps (y - y^3)          that is, xy + eps (y^2 / 2 - y^4 / 4)
    forsaken          c = .45,  P = Q,  Q' = y / 2 - 2 y^3 + y^5

The first has a cubic field. Its only stationary point, the origin, repels the gradient flow; all else is drawn to a
cycle around it, which passes y = 0 at x = 2 / sqrt(3) = 1.1547 as eps goes to 0. The stationary point of the second,
(.0780267, .411934), attracts; but a small cycle around it repels, and what starts outside is drawn to a large one.
Source: Hsieh, Mertikopoulos, Cevher, "The Limits of Min-Max Optimization Algorithms: Convergence to Spurious
Non-Critical Sets" (ICML 2021), its two almost bilinear examples; "forsaken" is what later work calls the second, such
as Pethick et al., "Escaping Limit Cycles" (ICLR 2022).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root

from gossipgan.games.toy.game import Array, Game

#: Names of the games.
FORMS = ("almost-bilinear", "forsaken")

#: Where the attracting cycle passes to the right of the solution, within.
_CYCLE_BRACKET = (0.5, 3.0)
#: Points of the cycle that are returned.
_CYCLE_POINTS = 400
#: Time in which half a turn is done.
_HALF_TURN = 100.0

_Function = Callable[[Array], Array]


@dataclass(frozen=True)
class _Form:
    """c, P' and Q' with their slopes, and where about the solution is."""

    c: float
    p: _Function
    p_slope: _Function
    q: _Function
    q_slope: _Function
    about: tuple[float, float]


def _almost_bilinear(epsilon: float) -> _Form:
    return _Form(
        c=0.0,
        p=np.zeros_like,
        p_slope=np.zeros_like,
        q=lambda z: -epsilon * z * (1 - z * z),
        q_slope=lambda z: -epsilon * (1 - 3 * z * z),
        about=(0.0, 0.0),
    )


def _forsaken() -> _Form:
    def h(z: Array) -> Array:
        square = z * z
        return z * (0.5 + square * (square - 2))

    def slope(z: Array) -> Array:
        square = z * z
        return 0.5 + square * (5 * square - 6)

    return _Form(c=0.45, p=h, p_slope=slope, q=h, q_slope=slope, about=(0.08, 0.41))


class CubicGame(Game):
    """One of the games, the same in all plays; d is 1.

    Args:
        form: of FORMS.
        epsilon: eps of almost-bilinear.
    """

    def __init__(self, form: str, epsilon: float = 0.01) -> None:
        self._form = _forsaken() if form == "forsaken" else _almost_bilinear(epsilon)
        found = root(lambda w: self.field(w.reshape(2, 1)).ravel(), self._form.about, tol=1e-15)
        self.solution = found.x.reshape(1, 2, 1)
        x, y = found.x
        self.jacobian = np.array([[float(self._form.p_slope(x)), 1.0], [-1.0, float(self._form.q_slope(y))]])

    def field(self, w: Array) -> Array:
        g = np.empty_like(w)
        g[..., 0, :] = w[..., 1, :] - self._form.c + self._form.p(w[..., 0, :])
        g[..., 1, :] = self._form.q(w[..., 1, :]) - w[..., 0, :]
        return g

    def limit_cycle(self) -> Array:
        """The cycle that attracts the flow w' = -field(w), at equal steps of time, shape (points, 2)."""
        centre = self.solution.ravel()

        def at(radius: float) -> Array:
            return np.array([centre[0] + radius, centre[1]])

        def drift(radius: float) -> float:
            back, _ = self._turn(at(radius))
            return float(back[0] - at(radius)[0])

        start = at(brentq(drift, *_CYCLE_BRACKET, xtol=1e-7))
        _, period = self._turn(start)
        times = np.linspace(0, period, _CYCLE_POINTS, endpoint=False)
        points: Array = self._flow(start, period, at=times).y.T
        return points

    def _turn(self, start: Array) -> tuple[Array, float]:
        """Where and when the flow is back at the height of the solution, to its right, from a point there."""
        below = self._flow(start, _HALF_TURN, until=-1)
        back = self._flow(below.y[:, -1], _HALF_TURN, until=1)
        return back.y[:, -1], float(below.t[-1] + back.t[-1])

    def _flow(self, start: Array, time: float, until: int | None = None, at: Array | None = None) -> Any:
        """The flow from ``start``; ended where it crosses the height of the solution, upward (1) or downward (-1)."""
        return solve_ivp(
            lambda _, w: -self.field(w.reshape(2, 1)).ravel(),
            (0.0, time),
            start,
            method="DOP853",
            t_eval=at,
            events=None if until is None else _Crossing(self.solution[0, 1, 0], until),
            rtol=1e-7,
            atol=1e-9,
        )


class _Crossing:
    """An event of solve_ivp, which ends it: y passes a height in a direction."""

    terminal = True

    def __init__(self, height: float, direction: int) -> None:
        self._height = height
        self.direction = direction

    def __call__(self, _: float, w: Array) -> float:
        return float(w[1] - self._height)
