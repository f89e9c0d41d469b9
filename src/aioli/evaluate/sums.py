"""What running scores share: each is a function of sums over rows, and its state is those sums.

So two scores of different rows merge by adding, and the order of rows does not matter, beyond the rounding of a sum.
Counts are exact up to 2⁵³ rows. A score of no rows is NaN, and so is one that needs both labels and has seen one.
"""

import math
from abc import ABC, abstractmethod
from typing import Protocol, Self

import numpy as np

from aioli.numerics.compiling import Vector
from aioli.streams.rows import as_labels

__all__ = ["Score", "Sums", "ratio"]


class Score(Protocol):
    """What can be fed with probabilities and the labels that came."""

    def update(self, p: object, y: object) -> None:
        """Take in the probabilities announced for some rows, and their labels."""
        ...

    @property
    def value(self) -> float:
        """The score of all rows so far."""
        ...


class Sums(ABC):
    """The part that every score shares: its state is named sums, which merge by adding."""

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        self._sums: dict[str, Vector] = {name: np.zeros(shape) for name, shape in shapes.items()}

    @property
    @abstractmethod
    def value(self) -> float:
        """The score of all rows so far."""

    def update(self, p: object, y: object) -> None:
        """Take in the probabilities announced for some rows, and their labels; all of them, or none if one is wrong."""
        announced = np.atleast_1d(np.asarray(p, dtype=np.float64))
        if announced.ndim != 1:
            raise ValueError(f"probabilities of shape {announced.shape} came; give one a row (nothing was counted)")
        wrong = ~((announced >= 0.0) & (announced <= 1.0))
        if wrong.any():
            t = int(np.argmax(wrong))
            raise ValueError(f"row {t}: the probability is {announced[t]}; give one from 0 to 1 (nothing was counted)")
        self._add(announced, as_labels(np.atleast_1d(np.asarray(y)), announced.size))

    @abstractmethod
    def _add(self, p: Vector, y: Vector) -> None: ...

    def merge(self, other: Self) -> Self:
        """Take in what another score of this kind has counted of other rows."""
        if type(other) is not type(self):
            raise ValueError(f"a {type(other).__name__} cannot merge into a {type(self).__name__}; give the same kind")
        for name, total in self._sums.items():
            total += other._sums[name]
        return self

    def state(self) -> dict[str, Vector]:
        """Its sums, as arrays to keep; `restore` goes on from them."""
        return {name: total.copy() for name, total in self._sums.items()}

    def restore(self, state: dict[str, Vector]) -> Self:
        """Forget what was counted, and go on from a state."""
        wanted = {name: total.shape for name, total in self._sums.items()}
        came = {name: np.shape(total) for name, total in state.items()}
        if came != wanted:
            raise ValueError(f"a state of {came} came for a {type(self).__name__}, whose state is {wanted}")
        self._sums = {name: np.array(state[name], dtype=np.float64) for name in wanted}
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value:.6g})"


def ratio(total: Vector | float, rows: Vector | float) -> float:
    """The mean, or NaN of no rows."""
    return float(total) / float(rows) if rows else math.nan
