"""Picture of a game's spectrum, as PNG: the JVF in the complex plane, each Hessian on a real line below it.

The bytes depend on the numbers and on matplotlib's version alone.
"""

import io
import math
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, SymmetricalLogLocator

from gossipgan.evaluation import PlayerSpectrum, Spectrum

_DPI = 160
_INK, _FAINT, _SHADE = "#1c2128", "#d9dde3", "#f2f3f5"
#: Those found at the far end, and those at the left end.
_FAR, _LEFT = "#0072b2", "#d55e00"

#: Beyond so many times the middle one, the largest would leave no room for the others on a linear scale.
_OUTLIER = 8.0


def png(spectrum: Spectrum, title: str) -> bytes:
    """The picture of a spectrum.

    Args:
        spectrum: eigenvalues that did not converge are counted above the panels.
        title: what it is of.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "font.family": "DejaVu Sans",
                "font.size": 10.5,
                "axes.titlesize": 10.5,
                "axes.titlelocation": "left",
                "axes.edgecolor": _INK,
                "axes.labelcolor": _INK,
                "text.color": _INK,
                "xtick.color": _INK,
                "ytick.color": _INK,
                "legend.frameon": False,
            }
        )
        figure = Figure(figsize=(7.0, 7.4), layout="constrained")
        plane, generator, discriminator = figure.subplots(3, 1, height_ratios=(5, 1, 1))
        _draw_plane(plane, spectrum)
        _draw_line(generator, spectrum.generator, "Hessian of L_G in G")
        _draw_line(discriminator, spectrum.discriminator, "Hessian of L_D in D")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        figure.legend(*plane.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
    return file.getvalue()


def _draw_plane(axes: Axes, spectrum: Spectrum) -> None:
    jvf = spectrum.jvf
    for end, colour, marker, label in (
        (jvf.largest, _FAR, "o", "largest (above: in magnitude)"),
        (jvf.leftmost, _LEFT, "x", "smallest (above: in real part)"),
    ):
        look: dict[str, Any] = {"color": colour, "marker": marker, "markerfacecolor": "none", "markeredgewidth": 1.4}
        axes.plot(end.values.real, end.values.imag, linestyle="none", markersize=6.5, label=label, **look)
    axes.set_xlabel("real part" + _scale(axes, "x", jvf.found.real))
    axes.set_ylabel("imaginary part" + _scale(axes, "y", jvf.found.imag))
    # Left of it the field pushes away; above and below the real line it turns.
    axes.axvspan(axes.get_xlim()[0], min(0.0, axes.get_xlim()[1]), color=_SHADE, zorder=0)
    axes.axhline(0, color=_INK, linewidth=0.8, zorder=1)
    axes.axvline(0, color=_INK, linewidth=0.8, zorder=1)
    axes.grid(color=_FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    missing = jvf.largest.missing + jvf.leftmost.missing
    axes.set_title(f"Jacobian of the joint vector field: {_count(len(jvf.found), jvf.parameters, missing)}")


def _draw_line(axes: Axes, player: PlayerSpectrum, name: str) -> None:
    for end, colour in ((player.largest, _FAR), (player.smallest, _LEFT)):
        axes.vlines(end.values, -1, 1, color=colour, linewidth=1.3)
    values = np.concatenate([player.largest.values, player.smallest.values])
    axes.set_xlabel("eigenvalue" + _scale(axes, "x", values))
    axes.axhline(0, color=_INK, linewidth=0.8, zorder=1)
    axes.axvline(0, color=_INK, linewidth=0.8, zorder=1)
    axes.set_ylim(-1.6, 1.6)
    axes.yaxis.set_major_locator(NullLocator())
    axes.spines[["left", "right", "top"]].set_visible(False)
    missing = player.largest.missing + player.smallest.missing
    axes.set_title(f"{name}: {_count(len(values), player.parameters, missing)}")


def _scale(axes: Axes, axis: str, values: npt.NDArray[np.float64]) -> str:
    """Limits around the values and zero; where a few are far out, logarithmic beyond a linear middle.

    Returns what the axis's label is to say about that.
    """
    sizes = np.abs(values[values != 0])
    low, high = (min(0.0, values.min()), max(0.0, values.max())) if len(sizes) else (-1.0, 1.0)
    set_scale, set_limits, ticks = (
        (axes.set_xscale, axes.set_xlim, axes.xaxis) if axis == "x" else (axes.set_yscale, axes.set_ylim, axes.yaxis)
    )
    said = ""
    if len(sizes) and sizes.max() > _OUTLIER * np.median(sizes):
        linear = 10.0 ** math.floor(math.log10(float(np.median(sizes))))
        set_scale("symlog", linthresh=linear)
        set_limits(1.6 * low - 0.15 * linear, 1.6 * high + 0.15 * linear)
        ticks.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear))
        said = f" (logarithmic beyond {linear:g})"
    else:
        margin = 0.06 * (high - low)
        set_limits(low - margin, high + margin)
        ticks.set_major_locator(MaxNLocator(6))
    ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}")))
    return said


def _count(shown: int, all_of_them: int, missing: int) -> str:
    return f"{shown} of {all_of_them:,} eigenvalues" + (f", {missing} not converged" if missing else "")
