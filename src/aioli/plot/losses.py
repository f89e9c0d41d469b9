"""The loss along the rows, beside the base rate's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.evaluate.history import Point
from aioli.plot.drawing import LEARNER, REFERENCE, Axes, Display
from aioli.plot.recording import RecordedRun

__all__ = ["LossDisplay"]


@dataclass
class LossDisplay(Display):
    """The mean log loss so far, that of the latest rows, and that of the running base rate.

    Parameters
    ----------
    points
        How the run stood after so many rows.
    name
        What the learner is called in the legend.
    """

    points: Sequence[Point]
    name: str = "learner"

    @classmethod
    def from_run(cls, run: RecordedRun, ax: Axes | None = None) -> Self:
        """Draw the losses of a recorded run."""
        return cls(run.points, type(run.learner).__name__).plot(ax)

    def _draw(self, ax: Axes) -> None:
        rows = [point.rows for point in self.points]
        drawn = np.array([(point.base_rate, point.recent, point.log_loss) for point in self.points], dtype=np.float64)
        ax.plot(rows, drawn[:, 0], color=REFERENCE, label="base rate")
        ax.plot(rows, drawn[:, 1], color=LEARNER, alpha=0.35, lw=1.0, label="latest rows")
        ax.plot(rows, drawn[:, 2], color=LEARNER, lw=2.0, label=f"{self.name}, all rows")
        ax.set(xlabel="rows", ylabel="mean log loss so far, nats", xscale="log")
        ax.set_ylim(bottom=0.0)
        ax.legend(frameon=False)
