"""How many rows a learner has learned from, and its loss, where it counts them in an array of totals."""

from aioli.numerics.compiling import Vector
from aioli.states.mixture.single_row import LOSS, ROUNDS

__all__ = ["CountsTotals"]


class CountsTotals:
    """Tells rows and loss from `_totals`, whose first entries are rows, their weights and their losses."""

    _totals: Vector

    @property
    def rounds(self) -> int:
        """How many rows it has learned from."""
        return int(self._totals[ROUNDS])

    @property
    def loss(self) -> float:
        """The sum of its losses so far, in nats."""
        return float(self._totals[LOSS])
