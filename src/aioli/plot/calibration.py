"""Whether probabilities are honest, in the middle or in the tails."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.errors import ParameterRefused
from aioli.evaluate.score_functions import Reliability
from aioli.evaluate.sums import Scores
from aioli.plot.drawing import BOUND, LEARNER, REFERENCE, Axes, Display
from aioli.plot.recording import RecordedRun
from aioli.report.charts_of_probabilities import wilson
from aioli.streams.rows import as_labels

__all__ = ["CalibrationDisplay"]

FEWEST = 5  # rows of a group that is drawn
TICKS = (1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0 - 1e-4, 1.0 - 1e-6)


@dataclass
class CalibrationDisplay(Display):
    """What came against what was announced, in groups of rows of like probability, with what chance allows.

    A group is dark where its announced probability lies within Wilson's 95 % interval of what came, and orange where it
    does not.

    Parameters
    ----------
    groups
        Rows, mean announced probability and share of positives of each group.
    tails
        Whether the axes are of log-odds, where 1 % and 99 % have as much room as 50 %.
    """

    groups: Sequence[Reliability]
    tails: bool = True

    @classmethod
    def from_run(cls, run: RecordedRun, tails: bool = True, ax: Axes | None = None) -> Self:
        """Draw the calibration of a recorded run."""
        return cls.from_predictions(run.y, run.p, tails, ax)

    @classmethod
    def from_predictions(cls, y: object, p: object, tails: bool = True, ax: Axes | None = None) -> Self:
        """Draw the calibration of probabilities of class 1 and the labels that came, of any model."""
        said = np.ascontiguousarray(p, dtype=np.float64)
        if said.ndim != 1 or not ((said >= 0.0) & (said <= 1.0)).all():
            raise ParameterRefused.unlike("p", p, "one probability a row, from 0 to 1")
        scores = Scores()
        scores.count(said, as_labels(y, len(said)))
        return cls(scores.tails() if tails else scores.reliability(), tails).plot(ax)

    def _draw(self, ax: Axes) -> None:
        groups = [group for group in self.groups if group.rows >= FEWEST]
        announced = np.array([group.announced for group in groups])
        ends = np.array([wilson(group.observed, group.rows) for group in groups]).reshape(-1, 2)
        floor = 0.2 * min(0.5, *announced, *(1.0 - announced)) if self.tails and len(announced) else 0.0
        observed = np.clip([group.observed for group in groups], floor, 1.0 - floor)
        low, high = np.clip(ends.T, floor, 1.0 - floor)
        honest = (ends[:, 0] <= announced) & (announced <= ends[:, 1])
        ax.plot([floor, 1.0 - floor], [floor, 1.0 - floor], color=REFERENCE, lw=1.0, zorder=0)
        for chosen, colour in ((honest, LEARNER), (~honest, BOUND)):
            ax.vlines(announced[chosen], low[chosen], high[chosen], color=colour, lw=1.5)
            ax.plot(announced[chosen], observed[chosen], "o", ms=5, color=colour)
        if self.tails:
            ax.set(xscale="logit", yscale="logit", xlim=(floor, 1.0 - floor), ylim=(floor, 1.0 - floor))
            ticks = [tick for tick in TICKS if floor <= tick <= 1.0 - floor]
            ax.set(xticks=ticks, yticks=ticks)
            ax.set(xticklabels=[_written(tick) for tick in ticks], yticklabels=[_written(tick) for tick in ticks])
            ax.minorticks_off()
        ax.set(xlabel="announced probability", ylabel="share that came")


def _written(probability: float) -> str:
    """Return a probability as people write it: "0.01 %", "99.99 %"."""
    return f"{round(100.0 * probability, 4):g} %"
