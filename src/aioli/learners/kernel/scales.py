"""Scales of columns without a label: a sample of rows, and the unit in which a typical distance of them is 1."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy.spatial.distance import pdist

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.copying import copy_record
from aioli.snapshots.tree import Snapshot

__all__ = ["FARTHEST", "METRICS", "Sample", "Scaling"]

SAMPLE = 512  # rows kept
FIRST = 4  # rows before there is a map: fewer tell nothing of scales
MOVED = 1.5  # factor by which typical distances must have moved for a new map
PAIRED = 128  # rows whose distances are taken
FARTHEST = 1e8  # units beyond which a row is as far as can be

METRICS: dict[str, Literal["euclidean", "cityblock"]] = {"rbf": "euclidean", "laplacian": "cityblock"}  # of a kernel


@dataclass(frozen=True)
class Scaling:
    r"""$u = (x - \mathrm{centre}) \cdot \mathrm{unit}$, after which the median distance between rows is 1."""

    centre: Vector
    unit: Vector

    @classmethod
    def of(cls, rows: Matrix, kernel: str) -> Self:
        """Return the scaling fitted to these rows; a constant column gets the unit 0. O(rows·d)."""
        centre = rows.mean(axis=0)
        spread = rows.std(axis=0)
        moving = spread > 1e-12 * np.abs(centre)  # else it is rounding
        unit = np.divide(1.0, spread, out=np.zeros_like(spread), where=moving & (spread > 1e-100))
        distances = cls(centre, unit).distances(rows, kernel)
        apart = distances[distances > 0.0]
        return cls(centre, unit / float(np.median(apart)) if apart.size else unit)

    def snapshot(self) -> Snapshot:
        """Return centre and unit of each column."""
        return Snapshot("Scaling", arrays={"centre": self.centre.copy(), "unit": self.unit.copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal scaling from a snapshot."""
        centre = snapshot.of("Scaling").array("centre", (None,))
        # copies: a snapshot's arrays may be read-only, which compiled code does not take
        return cls(centre.copy(), snapshot.totals("unit", centre.shape).copy())

    def grown(self, columns: int) -> Self:
        """Return the scaling with new columns that have been 0 so far, and so get the unit 0."""
        none = np.zeros(columns)
        return type(self)(np.append(self.centre, none), np.append(self.unit, none))

    def __call__(self, X: Matrix) -> Matrix:
        """Return the rows in units of the median distance. O(d) a row."""
        scaled: Matrix = np.clip((X - self.centre) * self.unit, -FARTHEST, FARTHEST)
        return scaled

    def distances(self, rows: Matrix, kernel: str) -> Vector:
        """Return the distances between all pairs of evenly spaced rows."""
        every = max(1, len(rows) // PAIRED)
        return np.asarray(pdist(self(rows[::every]), METRICS[kernel]))

    def has_moved(self, now: Self, rows: Matrix, kernel: str) -> bool:
        """Return whether distances between rows differ from those under `now` by a median factor beyond `MOVED`."""
        before, after = self.distances(rows, kernel), now.distances(rows, kernel)
        apart = after > 0.0
        if not apart.any():
            return False
        ratio = float(np.median(before[apart] / after[apart]))
        return not 1.0 / MOVED < ratio < MOVED


class Sample:
    """Evenly spaced rows of the stream with labels and weights: when it is full, every other one goes."""

    def __init__(self, width: int) -> None:
        self.table: Matrix = np.zeros((SAMPLE, width + 2))
        self.count, self.seen, self.stride = 0, 0, 1

    def snapshot(self) -> Snapshot:
        """Return the rows kept, and how they were chosen."""
        values = {"seen": self.seen, "stride": self.stride}
        return Snapshot("Sample", values, {"table": self.table[: self.count].copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal sample from a snapshot."""
        table = snapshot.of("Sample").array("table", (None, None))
        count, width = len(table), table.shape[1] - 2
        if count >= SAMPLE or width < 1:
            raise SnapshotRefused(f"in a Sample, the array 'table' has shape {table.shape}")
        sample = cls(width)
        sample.table[:count] = table
        sample.count, sample.seen, sample.stride = count, snapshot.whole("seen"), snapshot.whole("stride", least=1)
        return sample

    def grow(self, columns: int) -> None:
        """Make room for new columns that have been 0 so far."""
        none = np.zeros((SAMPLE, columns))
        self.table = np.concatenate([self.table[:, :-2], none, self.table[:, -2:]], axis=1)

    @property
    def width(self) -> int:
        """Return how many columns a row has."""
        return int(self.table.shape[1]) - 2

    @property
    def kept(self) -> tuple[Matrix, Vector, Vector]:
        """Return copies of the rows, labels and weights."""
        kept = self.table[: self.count]
        return np.ascontiguousarray(kept[:, :-2]), kept[:, -2].copy(), kept[:, -1].copy()

    @property
    def whole(self) -> bool:
        """Return whether it holds all rows that came."""
        return self.stride == 1

    @property
    def until_due(self) -> int:
        """Return how many rows are missing until their number is a power of two."""
        return max(FIRST, 1 << self.seen.bit_length()) - self.seen

    def keep(self, X: Matrix, y: Vector, weights: Vector) -> None:
        """Take in rows, no more than `until_due`."""
        chosen = slice(-self.seen % self.stride, None, self.stride)
        rows = X[chosen]
        new = self.table[self.count : self.count + len(rows)]
        new[:, :-2], new[:, -2], new[:, -1] = rows, y[chosen], weights[chosen]
        self.count += len(rows)
        self.seen += len(X)

    def keep_row(self, X: Matrix, y: Vector, weights: Vector) -> bool:
        """Take in the only row of X, as `keep` does; return whether the number of rows is now a power of two."""
        seen = self.seen
        if seen % self.stride == 0:
            copy_record(X, y, weights, self.table, self.count)
            self.count += 1
        self.seen = seen + 1
        return seen & (seen + 1) == 0 and seen + 1 >= FIRST

    def thin(self) -> None:
        """Let every other row go where there is no more room."""
        if self.count == SAMPLE:
            self.count //= 2
            self.table[: self.count] = self.table[::2]
            self.stride *= 2
