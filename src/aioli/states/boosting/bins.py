r"""Columns in bins: a cell is known by which of at most 64 bins it lies in, whatever its unit, however far out it is.

Cuts between bins lie half-way between neighbouring values of a sample. There is a bin for every sixteen rows, up to 64,
and eight at least. Where there are no more values than that, each has a bin. Otherwise cuts are placed from the least
value up: each bin takes whole values until it holds its part of the cells that are left, so that a value that many rows
share has a bin to itself and the others have the rest.
"""

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, compiled

__all__ = ["BINS", "Bins", "bin_rows", "cuts_of"]

Bins = NDArray[np.uint8]

BINS = 64  # of a column, at most
EACH, FEWEST = 16, 8  # rows for which there is a bin, and how many there may be however few rows
SAMPLE = 2048  # rows of which the cuts are made, at most


def cuts_of(X: Matrix) -> Matrix:
    """Return the cuts of every column, ascending, and infinity where there are fewer. O(d n log n) of a sample."""
    every = -(-len(X) // SAMPLE)
    ordered = np.sort(np.ascontiguousarray(X[::every].T), axis=1)
    cuts = np.full((X.shape[1], BINS - 1), np.inf)
    place_cuts(ordered, cuts)
    return cuts


@compiled("void(f8[:,::1],f8[:,::1])")
def place_cuts(ordered: Matrix, cuts: Matrix) -> None:
    """Place the cuts of columns whose values are in ascending order. O(d n)."""
    rows = ordered.shape[1]
    most = min(max(rows // EACH, FEWEST), BINS)
    for j in range(len(cuts)):
        values = 1
        for t in range(rows - 1):
            values += 1 if ordered[j, t] < ordered[j, t + 1] else 0
        placed, held, left = 0, 0, rows
        for t in range(rows - 1):
            held += 1
            value, following = ordered[j, t], ordered[j, t + 1]
            full = values <= most or held * (most - placed) >= left
            if value < following and full and placed < most - 1:
                between = 0.5 * value + 0.5 * following
                cuts[j, placed] = between if value <= between < following else value  # rounding may say otherwise
                placed += 1
                left -= held
                held = 0


@compiled("void(f8[:,::1],f8[:,::1],u1[:,::1])")
def bin_rows(X: Matrix, cuts: Matrix, binned: Bins) -> None:
    """Write the bin of every cell: how many cuts of its column are below it. O(d log 64) a row."""
    for t in range(len(X)):
        for j in range(X.shape[1]):
            x, column = X[t, j], cuts[j]
            low, high = 0, BINS - 1
            while low < high:
                middle = (low + high) // 2
                if column[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            binned[t, j] = low
