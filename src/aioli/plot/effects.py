"""What one column does to the probability."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.errors import ParameterRefused
from aioli.evaluate.column_effects import ColumnEffect
from aioli.evaluate.explaining import explain_columns
from aioli.learners.protocol import require_learner
from aioli.plot.drawing import LEARNER, Axes, Display
from aioli.plot.recording import RecordedRun

__all__ = ["EffectDisplay"]


@dataclass
class EffectDisplay(Display):
    """The probability that is announced for the average row as one of its columns goes through its usual values.

    Parameters
    ----------
    effect
        What `explain_columns` says of the column.
    """

    effect: ColumnEffect

    @classmethod
    def from_run(cls, run: RecordedRun, column: str | int | None = None, ax: Axes | None = None) -> Self:
        """Draw the effect of a column after a recorded run; of the most important one where none is named."""
        return cls.from_learner(run.learner, run.rows, column, ax)

    @classmethod
    def from_learner(
        cls, learner: object, rows: object, column: str | int | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the effect of a column, by its name or its number from 0, over some rows like those learned from."""
        effects = explain_columns(require_learner(learner), rows)
        if column is None:
            return cls(effects[0]).plot(ax)
        names = [effect.name for effect in effects]
        wanted = f"column {column + 1}" if isinstance(column, int) else column
        if wanted not in names:
            raise ParameterRefused.unlike("column", column, f"one of {', '.join(sorted(names))}")
        return cls(effects[names.index(wanted)]).plot(ax)

    def _draw(self, ax: Axes) -> None:
        values = [point.value for point in self.effect.curve]
        probabilities = [point.probability for point in self.effect.curve]
        try:
            places = np.array([float(value) for value in values])
        except ValueError:  # of categories
            ax.plot(probabilities, values, "o", color=LEARNER)
            ax.set(xlabel="announced probability", xlim=(0.0, 1.0), title=self.effect.name)
            return
        ax.plot(places, probabilities, "o-", color=LEARNER)
        ax.set(xlabel=self.effect.name, ylabel="announced probability", ylim=(0.0, 1.0))
