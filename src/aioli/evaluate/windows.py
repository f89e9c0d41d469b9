r"""Counts a run in equal windows: loss, base rate and AUC along the rows; finds where the loss changed.

A run's length is not known beforehand: windows are of one row at first, and whenever there are more than 128 of them,
each two become one. So at the end there are 64 to 128 windows of equal size, the last one shorter, in memory that does
not grow.

A change point is found by binary segmentation of the windows' mean losses: a stretch is cut where the two sides differ
most, $(\bar\ell_1 - \bar\ell_2)^2/(s^2(1/n_1 + 1/n_2))$, if that is far beyond chance. $s^2$ is the variance of one
row's loss, or what neighbouring windows say it is where that is more, as where labels come in runs. Of these cuts, one
is told where a line before it and a line behind it, fitted by least squares, are apart by a step: a loss that falls
slowly, as a learner's does, has no steps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.evaluate.score_functions import BINS, LARGEST, SMALLEST, bin_of
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Snapshot

__all__ = ["Change", "Window", "Windows", "change_points"]

MOST = 128
CELLS = 64  # of like probability, for the AUC of a window: four an octave of p and of 1 - p
CELL_BINS = 64
FIRST_CELL = BINS // (2 * CELL_BINS) - CELLS // 2  # those beyond share the cells at the ends
ROWS, ONES, NATS, SQUARES = range(4)  # of `totals`

BEYOND_CHANCE = 30.0  # of the statistic: five and a half standard deviations, of a hundred places that were tried
SMALLEST_CHANGE = 0.05  # of the smaller loss
STEEP = 0.5  # of the difference between two stretches, that must be a step
SURE = 4.0  # standard deviations of a step
STEP = 3  # windows of a stretch, at least
LEARNING = 0.1  # of the rows: a fall of the loss before is the learner's own


@compiled("void(f8[::1],f8[::1],i8,i8,f8[:,::1],f8[:,::1])")
def add_to_windows(p: Vector, y: Vector, before: int, size: int, totals: Matrix, cells: Matrix) -> None:
    """Add rows, in their order, to the windows that they fall in. O(1) a row."""
    for t in range(p.size):
        i = (before + t) // size
        one = y[t] == 1.0
        nats = -math.log(max(p[t], SMALLEST)) if one else -math.log1p(-min(p[t], LARGEST))
        totals[i, ROWS] += 1.0
        totals[i, ONES] += y[t]
        totals[i, NATS] += nats
        totals[i, SQUARES] += nats * nats
        cell = min(max(bin_of(p[t]) // CELL_BINS - FIRST_CELL, 0), CELLS - 1)
        cells[i, cell + CELLS if one else cell] += 1.0


@dataclass(frozen=True)
class Window:
    """Some consecutive rows: which, their mean log loss, the share of positive labels, and the AUC among them.

    Attributes
    ----------
    deviation
        Of one row's loss.
    """

    first: int
    last: int
    log_loss: float
    positive: float
    auc: float | None
    deviation: float

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Change:
    """A row near which the loss changed, and the mean loss on either side."""

    row: int
    before: float
    after: float

    def __str__(self) -> str:
        return f"changed near row {self.row:,}: loss {self.before:.2g} → {self.after:.2g}"


class Windows:
    """Counts a run in windows of equally many rows, 64 to 128 of them once there are as many rows."""

    def __init__(self) -> None:
        self.size = 1
        self.rows = 0
        self._totals: Matrix = np.zeros((MOST, 4))
        self._cells: Matrix = np.zeros((MOST, 2 * CELLS))

    def count(self, p: Vector, y: Vector) -> None:
        """Take in what was announced, and the labels 0.0 or 1.0 that came."""
        while self.rows + len(p) > MOST * self.size:
            self._halve()
        add_to_windows(p, y, self.rows, self.size, self._totals, self._cells)
        self.rows += len(p)

    def list(self) -> list[Window]:
        """Return the windows, in the order of the rows."""
        found = []
        for i, (rows, ones, nats, squares) in enumerate(self._totals.tolist()):
            if rows:
                mean = nats / rows
                deviation = max(squares / rows - mean * mean, 0.0) ** 0.5
                first = i * self.size + 1
                auc = _area(self._cells[i, :CELLS], self._cells[i, CELLS:])
                found.append(Window(first, first + int(rows) - 1, mean, ones / rows, auc, deviation))
        return found

    def snapshot(self) -> Snapshot:
        """Return the size of a window, and what was counted in each."""
        arrays = {"totals": self._totals.copy(), "cells": self._cells.copy()}
        return Snapshot("Windows", {"size": self.size, "rows": self.rows}, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal windows, which go on from what was counted."""
        windows, given = cls(), snapshot.of("Windows")
        windows.size, windows.rows = given.whole("size", least=1), given.whole("rows")
        windows._totals = given.array("totals", (MOST, 4)).copy()
        windows._cells = given.array("cells", (MOST, 2 * CELLS)).copy()
        if windows.rows > MOST * windows.size:
            raise SnapshotRefused(f"in a Windows, {windows.rows} rows are more than {MOST} windows of {windows.size}")
        return windows

    def _halve(self) -> None:
        """Join neighbouring windows in pairs."""
        for array in (self._totals, self._cells):
            array[: MOST // 2] = array[0::2] + array[1::2]
            array[MOST // 2 :] = 0.0
        self.size *= 2


def change_points(windows: Sequence[Window]) -> list[Change]:
    """Return where the loss changed, in the order of the rows; what the learner gains at the beginning is no change.

    >>> calm = [Window(100 * i + 1, 100 * i + 100, 0.14 + 0.01 * (i % 3), 0.3, None, 0.2) for i in range(50)]
    >>> later = [Window(100 * i + 1, 100 * i + 100, 0.31 - 0.01 * (i % 2), 0.3, None, 0.3) for i in range(50, 100)]
    >>> [str(change) for change in change_points(calm + later)]
    ['changed near row 5,001: loss 0.15 → 0.3']
    """
    if len(windows) < 4 * STEP:
        return []
    n = np.array([window.rows for window in windows], dtype=np.float64)
    loss = np.array([window.log_loss for window in windows])
    own = float(np.average([window.deviation**2 for window in windows], weights=n))
    steps = np.diff(loss) / np.sqrt(1.0 / n[1:] + 1.0 / n[:-1])
    noise = max(own, float(np.median(np.abs(steps)) / 0.6745) ** 2)
    cuts = [0, *sorted(_cuts(n, loss, noise, 0, len(n))), len(n)]
    kept = [
        cut for i, cut in enumerate(cuts[1:-1], 1) if _is_told(windows, n, loss, noise, cuts[i - 1], cut, cuts[i + 1])
    ]
    edges = [0, *kept, len(n)]
    found = []
    for i, cut in enumerate(kept, 1):
        sides = (slice(edges[i - 1], cut), slice(cut, edges[i + 1]))
        before, after = (float(np.average(loss[side], weights=n[side])) for side in sides)
        found.append(Change(windows[cut].first, before, after))
    return found


def _cuts(n: Vector, loss: Vector, noise: float, start: int, end: int) -> list[int]:
    """Return the windows with which a new stretch begins, by cutting in two as long as both differ beyond chance."""
    if end - start < 2 * STEP:
        return []
    rows, nats = np.cumsum(n[start:end]), np.cumsum((n * loss)[start:end])
    left, right = rows[:-1], rows[-1] - rows[:-1]
    gap = nats[:-1] / left - (nats[-1] - nats[:-1]) / right
    statistic = gap * gap / (max(noise, 1e-300) * (1.0 / left + 1.0 / right))
    statistic[: STEP - 1] = statistic[len(statistic) - STEP + 1 :] = 0.0
    best = int(np.argmax(statistic))
    if statistic[best] < BEYOND_CHANCE:
        return []
    cut = start + best + 1
    return [*_cuts(n, loss, noise, start, cut), cut, *_cuts(n, loss, noise, cut, end)]


def _is_told(windows: Sequence[Window], n: Vector, loss: Vector, noise: float, start: int, cut: int, end: int) -> bool:
    """Return whether a cut is a change: large, a step, and not what the learner gains at the beginning."""
    before, after = (float(np.average(loss[a:b], weights=n[a:b])) for a, b in ((start, cut), (cut, end)))
    gap = after - before
    t = np.arange(start, end) - (cut - 0.5)
    design = np.column_stack([np.ones(len(t)), np.minimum(t, 0.0), np.maximum(t, 0.0), t > 0.0])
    weighted = design.T * n[start:end]
    covariance = np.linalg.pinv(weighted @ design)
    step = float((covariance @ (weighted @ loss[start:end]))[3])
    sure = abs(step) >= SURE * math.sqrt(noise * covariance[3, 3])
    begins = gap < 0.0 and windows[cut].first < LEARNING * windows[-1].last
    return abs(gap) > SMALLEST_CHANGE * min(before, after) and sure and step / gap >= STEEP and not begins


def _area(zeros: Vector, ones: Vector) -> float | None:
    """Return the AUC of rows in cells, ties counted half; None where one class is missing."""
    pairs = float(zeros.sum() * ones.sum())
    return float(ones @ (np.cumsum(zeros) - 0.5 * zeros)) / pairs if pairs else None
