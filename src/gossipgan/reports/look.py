"""How plots look: one style, on a light or on a dark ground, and PNG bytes that depend on the numbers alone.

A person's matplotlibrc is not read, and no time or version is written into the files.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
from matplotlib.figure import Figure

DPI = 160

#: Colours that colour-blind people tell apart (after Okabe and Ito), the baseline's first; by whether it is dark.
COLOURS = {
    False: ("#5b6470", "#0072b2", "#d55e00", "#009e73", "#b3579a", "#b58500", "#3a9bd9"),
    True: ("#b4bcc8", "#4fb0f0", "#ff8f4d", "#3ccfa0", "#ee9fd0", "#f0c040", "#a9dcff"),
}
INK = {False: "#1c2128", True: "#e4e8ee"}
FAINT = {False: "#d9dde3", True: "#3a414b"}
GROUND = {False: "#ffffff", True: "#171b21"}


@contextmanager
def style(*, dark: bool) -> Iterator[None]:
    """Draw within it on a light or a dark ground."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "font.family": "DejaVu Sans",
                "font.size": 10.5,
                "axes.titlesize": 10.5,
                "figure.titlesize": 10.5,
                "figure.titleweight": "bold",
                "axes.grid": True,
                "axes.axisbelow": True,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "grid.color": FAINT[dark],
                "axes.edgecolor": INK[dark],
                "axes.labelcolor": INK[dark],
                "axes.facecolor": GROUND[dark],
                "figure.facecolor": GROUND[dark],
                "text.color": INK[dark],
                "xtick.color": INK[dark],
                "ytick.color": INK[dark],
                "legend.frameon": False,
            }
        )
        yield


def png(figure: Figure) -> bytes:
    """A figure as PNG."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    return file.getvalue()


def thousands(value: float, _: int = 0) -> str:
    """A count on an axis, such as ``20 k``."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if abs(value) >= 1e4 else f"{value:g}"
