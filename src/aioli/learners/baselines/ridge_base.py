"""The base of the learners whose one parameter is λ."""

import math
from typing import ClassVar

from aioli.learners.baselines.row_by_row import RowByRow
from aioli.learners.parameters import require_positive

__all__ = ["RidgeBase"]


class RidgeBase(RowByRow):
    """A learner of parameter λ alone, and of rows no longer than `reach`·√λ.

    A row outweighs the ridge by ‖x‖²/λ, and float64 must hold both: a subclass says for how long its formulas do.
    """

    reach: ClassVar[float]

    def __init__(self, ridge: float = 1.0, intercept: bool = True) -> None:
        super().__init__(intercept=intercept)
        require_positive(ridge=ridge)
        self.ridge = ridge

    def _widest(self) -> float:
        return self.reach * math.sqrt(self.ridge)
