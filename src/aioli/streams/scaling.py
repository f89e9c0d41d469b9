r"""Brings columns to a common scale as the stream goes, blind to the label: each row by the rows up to it.

A column's value becomes $(x - \bar x)/(s\sqrt d)$, with mean and standard deviation of the rows so far, this one
included, and d columns: so a row's length is about 1 whatever its units were. A column that has not moved is 0.
"""

import math
from typing import Self

import numpy as np

from aioli.errors import FileRefused
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Snapshot

__all__ = ["Scaler", "scaler_for"]

ANCHOR, MEAN, SPREAD = range(3)  # rows of `columns`: the first value, and mean and sum of squares relative to it


class Scaler:
    """Scales rows by the running moments of every column.

    >>> scaler = Scaler()
    >>> scaler.scale(np.array([[1e6], [3e6], [2e6]]), keep=True).ravel()
    array([0., 1., 0.])
    """

    def __init__(self) -> None:
        self.rows = 0.0
        self.columns: Matrix = np.zeros((3, 0))

    def scale(self, X: Matrix, keep: bool) -> Matrix:
        """Return the rows in the scale of all so far; `keep` counts them in. New columns have been 0 so far."""
        more = X.shape[1] - self.columns.shape[1]
        columns = np.hstack([self.columns, np.zeros((3, more))]) if more else self.columns.copy()
        scaled = np.empty_like(X)
        rows = scale_rows(np.ascontiguousarray(X), columns, self.rows, keep, scaled)
        if keep:
            self.rows, self.columns = rows, columns
        return scaled

    def moments(self) -> tuple[Vector, Vector]:
        """Return the mean and the standard deviation of every column over the rows so far."""
        return self.columns[ANCHOR] + self.columns[MEAN], np.sqrt(self.columns[SPREAD] / max(self.rows, 1.0))

    def snapshot(self) -> Snapshot:
        """Return the moments of every column."""
        return Snapshot("Scaler", {"rows": self.rows}, {"columns": self.columns.copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal scaler from a snapshot."""
        scaler = cls()
        scaler.rows = snapshot.of("Scaler").number("rows")
        scaler.columns = snapshot.array("columns", (3, None)).copy()
        return scaler


@compiled("f8(f8[:,::1],f8[:,::1],f8,b1,f8[:,::1])")
def scale_rows(X: Matrix, columns: Matrix, rows: float, keep: bool, out: Matrix) -> float:
    """Scale each row by the moments of all up to it; return how many have been counted. O(d) a row."""
    d = X.shape[1]
    root: float = math.sqrt(d)
    for t in range(len(X)):
        n = rows + 1.0
        for j in range(d):
            anchor = X[t, j] if n == 1.0 else columns[ANCHOR, j]
            u = X[t, j] - anchor
            step = u - columns[MEAN, j]
            mean = columns[MEAN, j] + step / n
            spread = columns[SPREAD, j] + step * (u - mean)
            out[t, j] = (u - mean) / (math.sqrt(spread / n) * root) if spread > 0.0 else 0.0
            if keep:
                columns[ANCHOR, j], columns[MEAN, j], columns[SPREAD, j] = anchor, mean, spread
        if keep:
            rows = n
    return rows


def scaler_for(file: str, wanted: bool, sparse: bool, snapshot: Snapshot | None) -> Scaler | None:
    """Return the scaler of an earlier stream's snapshot, or a new one where one is wanted; None where neither is."""
    if snapshot is not None:
        return Scaler.restore(snapshot.part("scaler")) if "scaler" in snapshot.parts else None
    if wanted and sparse:
        message = f"{file}: sparse rows are not scaled, which would fill them; use Auto or Wide"
        raise FileRefused(message, path=file)
    return Scaler() if wanted else None
