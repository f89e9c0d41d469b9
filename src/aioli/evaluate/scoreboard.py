"""All scores of a run at once, in one compiled pass over its rows: what a long stream can afford."""

import math
from typing import Any, Self

import numpy as np

from aioli.evaluate.scores import (
    AUC,
    BINS,
    OCTAVES,
    STEPS,
    Accuracy,
    BaseRate,
    Brier,
    Calibration,
    LogLoss,
    Reliability,
)
from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = ["Scoreboard"]

ROWS, ONES, NATS, SQUARES, RIGHT, CLIPPED = range(6)  # entries of `totals`
ZERO_COUNT, ONE_COUNT, ANNOUNCED = range(3)  # rows of `bins`
CELLS = 20  # equally wide parts of [0, 1] in the histogram
CURVE = 200  # points of a curve over thresholds


class Scoreboard:
    """Log loss, Brier, accuracy, AUC and calibration of announced probabilities, and the base rate's log loss.

    The sums are those of `evaluate.scores`, whose classes also say what each score is; it resumes as they do, and
    does not merge. Here the probabilities come from a learner, and are trusted.

    >>> board = Scoreboard()
    >>> board.update(np.array([0.9, 0.2, 0.6]), np.array([1.0, 0.0, 0.0]))
    >>> print(f"{board.log_loss:.4f} {board.brier:.4f} {board.auc:.2f}")
    0.4149 0.1367 1.00
    """

    def __init__(self) -> None:
        self.totals: Vector = np.zeros(6)
        self.bins: Matrix = np.zeros((3, BINS))
        self.cells: Matrix = np.zeros((2, CELLS))

    def update(self, p: Vector, y: Vector) -> None:
        """Take in the probabilities announced for some rows, and their labels, 0.0 or 1.0. O(1) a row."""
        count_rows(p, y, self.totals, self.bins, self.cells)

    @property
    def rows(self) -> int:
        """How many rows have come."""
        return int(self.totals[ROWS])

    @property
    def nats(self) -> float:
        """The sum of the log losses."""
        return float(self.totals[NATS])

    @property
    def log_loss(self) -> float:
        """Mean log loss, in nats a row."""
        sums = {"rows": self.totals[ROWS], "nats": self.totals[NATS], "clipped": self.totals[CLIPPED]}
        return LogLoss().restore(sums).value

    @property
    def clipped(self) -> int:
        """How many rows gave their label no probability at all; `log_loss` is then a lower bound."""
        return int(self.totals[CLIPPED])

    @property
    def base_rate(self) -> float:
        """Mean log loss of the running base rate."""
        ones = self.totals[ONES]
        return BaseRate().restore({"ones": ones, "zeros": self.totals[ROWS] - ones}).value

    @property
    def brier(self) -> float:
        """Mean squared error."""
        return Brier().restore({"rows": self.totals[ROWS], "squares": self.totals[SQUARES]}).value

    @property
    def accuracy(self) -> float:
        """The part of rows whose label had the larger probability."""
        return Accuracy().restore({"rows": self.totals[ROWS], "right": self.totals[RIGHT]}).value

    @property
    def auc(self) -> float:
        """Area under the ROC curve."""
        return self._auc.value

    @property
    def auc_error(self) -> float:
        """How far at most `auc` is from the exact area."""
        return self._auc.error

    @property
    def ece(self) -> float:
        """Expected calibration error."""
        return self._calibration.value

    def reliability(self) -> list[Reliability]:
        """The points of a reliability diagram."""
        return self._calibration.table()

    def thresholds(self) -> list[tuple[float, float, float, float]]:
        """Threshold, true and false positive rate, and precision: from the strictest to the most lenient."""
        zeros, ones = self.bins[ZERO_COUNT], self.bins[ONE_COUNT]
        used = np.flatnonzero(zeros + ones)[::-1]
        if not zeros.sum() or not ones.sum():
            return []
        found, false = np.cumsum(ones[used]), np.cumsum(zeros[used])
        means = self.bins[ANNOUNCED, used] / (zeros + ones)[used]
        both = np.maximum(found / found[-1], false / false[-1])  # evenly along the curve, whichever way it goes
        picked = np.unique(np.searchsorted(both, np.linspace(0.0, 1.0, CURVE)).clip(0, len(used) - 1))
        columns = (means, found / found[-1], false / false[-1], found / (found + false))
        return list(zip(*(column[picked].tolist() for column in columns), strict=True))

    def state(self) -> dict[str, Vector]:
        """Its sums, as arrays to keep."""
        return {"totals": self.totals.copy(), "bins": self.bins.copy(), "cells": self.cells.copy()}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Go on from a state."""
        board = cls()
        for name, own in board.state().items():
            if np.shape(state[name]) != own.shape:
                raise ValueError(f"scores of shape {np.shape(state[name])} came for {own.shape}")
            getattr(board, name)[...] = state[name]
        return board

    @property
    def _auc(self) -> AUC:
        return AUC().restore({"zeros": self.bins[ZERO_COUNT], "ones": self.bins[ONE_COUNT]})

    @property
    def _calibration(self) -> Calibration:
        rows = self.bins[ZERO_COUNT] + self.bins[ONE_COUNT]
        return Calibration().restore({"rows": rows, "ones": self.bins[ONE_COUNT], "announced": self.bins[ANNOUNCED]})


@compiled("i8(f8)")
def bin_of_one(p: float) -> int:
    """`scores.bin_of`, for one probability. O(1)."""
    q = min(p, 1.0 - p)
    mantissa, exponent = math.frexp(max(q, 2.0 ** -(OCTAVES + 1)))
    step = int((mantissa * 2.0 - 1.0) * STEPS) + (exponent + OCTAVES) * STEPS
    return step if p <= 0.5 else BINS - 1 - step


@compiled("void(f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1])")
def count_rows(p: Vector, y: Vector, totals: Vector, bins: Matrix, cells: Matrix) -> None:
    """Enter the rows into the sums. O(1) a row."""
    for t in range(p.size):
        q = p[t]
        one = y[t] == 1.0
        wrong = q if not one else 1.0 - q
        totals[ROWS] += 1.0
        totals[ONES] += y[t]
        totals[NATS] -= math.log(max(q, 5e-324)) if one else math.log1p(-min(q, 1.0 - 2.0**-53))
        totals[SQUARES] += (q - y[t]) * (q - y[t])
        totals[RIGHT] += 0.5 if q == 0.5 else 1.0 if (q > 0.5) == one else 0.0
        totals[CLIPPED] += 1.0 if wrong == 1.0 else 0.0
        b = bin_of_one(q)
        bins[ONE_COUNT if one else ZERO_COUNT, b] += 1.0
        bins[ANNOUNCED, b] += q
        cells[1 if one else 0, min(int(q * CELLS), CELLS - 1)] += 1.0
