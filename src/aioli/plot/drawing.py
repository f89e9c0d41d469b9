"""What the displays share: axes to draw on, colours, and tidy spines."""

from typing import Self

try:
    from matplotlib import pyplot
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
except ImportError:
    raise ImportError("aioli.plot needs matplotlib: pip install 'aioli-online[plot]'") from None

__all__ = ["BOUND", "LEARNER", "OTHERS", "REFERENCE", "Axes", "Display"]

LEARNER, REFERENCE, BOUND = "#0b6e69", "#8a8d91", "#c84c09"
OTHERS = ("#0b6e69", "#c84c09", "#5e3c99", "#e0a100", "#1f77b4", "#b03060", "#3fa34d", "#7f3b08", "#8dd3c7")


class Display:
    """A picture that can be drawn again on other axes.

    Attributes
    ----------
    ax_, figure_
        What it was last drawn on.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on these axes, or on new ones."""
        if ax is None:
            _, ax = pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        self._draw(ax)
        return self

    def _draw(self, ax: Axes) -> None:
        """Draw the picture."""
        raise NotImplementedError
