"""The loss in equal windows of a run, and where it changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from aioli.evaluate.windows import Change, Window, Windows, change_points
from aioli.plot.drawing import BOUND, LEARNER, REFERENCE, Axes, Display
from aioli.plot.recording import RecordedRun

__all__ = ["DriftDisplay"]


@dataclass
class DriftDisplay(Display):
    """The mean loss and the share of positives in equal windows, and the rows near which the loss changed.

    Parameters
    ----------
    windows, changes
        The windows, and where the loss changed; what a learner gains at the beginning is no change.
    """

    windows: Sequence[Window]
    changes: Sequence[Change]

    @classmethod
    def from_run(cls, run: RecordedRun, ax: Axes | None = None) -> Self:
        """Draw the windows of a recorded run."""
        counted = Windows()
        counted.count(run.p, run.y)
        windows = counted.list()
        return cls(windows, change_points(windows)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        middle = [(window.first + window.last) / 2.0 for window in self.windows]
        ax.plot(
            middle, [window.positive for window in self.windows], color=REFERENCE, lw=1.0, label="share of positives"
        )
        ax.plot(middle, [window.log_loss for window in self.windows], color=LEARNER, label="log loss, nats")
        for change in self.changes:
            ax.axvline(change.row, color=BOUND, lw=1.2)
            ax.annotate(
                f" {change.before:.2g} → {change.after:.2g}", (change.row, 1.0), xycoords=("data", "axes fraction")
            )
        ax.set(xlabel="rows", ylabel="in each window")
        ax.set_ylim(bottom=0.0)
        ax.legend(frameon=False)
