"""The look of the paper's figures: a colour a learner, and tidy axes."""

from collections.abc import Iterable

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter
except ImportError:
    raise ImportError("the paper's figures need matplotlib: pip install 'aioli-online[plot]'") from None

__all__ = ["COLOURS", "Axes", "Figure", "tidy"]

# One colour a learner in every figure; the improper ones dark, the proper ones warm.
COLOURS = {
    "AIOLI": "#0b6e4f",
    "AIOLI, R-free": "#3fa34d",
    "AIOLI, R-free, c = 0": "#b5cf6b",
    "AIOLI, tight": "#1f77b4",
    "AIOLI, tight, c = ½": "#5e3c99",
    "AIOLI, λ = 1": "#8dd3c7",
    "AIOLI, as printed": "#7f3b08",
    "Foster": "#222222",
    "FTRL": "#c84c09",
    "OGD": "#e0a100",
    "ONS": "#b03060",
    "ONS, projected": "#e377c2",
    "EKF": "#8a8d91",
    "Foster, quadrature": "#222222",
    "Foster, particles": "#9467bd",
}


def tidy(axes: Iterable[Axes]) -> None:
    """Take the box off, draw a faint grid, and label powers of ten only."""
    for each in axes:
        each.xaxis.set_minor_formatter(NullFormatter())
        each.spines[["top", "right"]].set_visible(False)
        each.grid(color="#e6e6e6", linewidth=0.6)
        each.set_axisbelow(True)
