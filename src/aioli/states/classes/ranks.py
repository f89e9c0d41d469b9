r"""Running ranks: where a cell stands among a sample of the column's cells so far, from -½ to ½.

The sample is a reservoir of rows, each row of the past being in it with the same chance; it is sorted anew whenever a
quarter more rows have come. Ranks are the same for every increasing transform of a column, and no cell can be far out.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Ranks", "rank_row", "sample_row"]

SAMPLE = 256  # rows
COUNTS = 4
SEEN, SORTED, NEXT, DRAW = range(COUNTS)  # rows so far, those in `ordered`, the row of the next sorting, the generator
MODULUS, FACTOR, SHIFT = 1 << 31, 1103515245, 12345  # of a linear congruential generator, whose high bits are used

Counts = NDArray[np.int64]


class Ranks:
    """Holds a sample of the rows so far, and the same numbers sorted, a line a column."""

    def __init__(self, width: int) -> None:
        self.rows: Matrix = np.zeros((SAMPLE, width))
        self.ordered: Matrix = np.zeros((width, SAMPLE))
        self.counts: Counts = np.zeros(COUNTS, np.int64)

    def grown(self, columns: int) -> Self:
        """Return the ranks had so many further columns been there, and 0, from the first row."""
        larger = type(self)(self.rows.shape[1] + columns)
        larger.rows[:, : self.rows.shape[1]] = self.rows
        larger.ordered[: len(self.ordered)] = self.ordered
        larger.counts[...] = self.counts
        return larger

    def snapshot(self) -> Snapshot:
        """Return the sample, sorted and not, and the counts."""
        arrays: dict[str, Array] = {
            "rows": self.rows.copy(),
            "ordered": self.ordered.copy(),
            "counts": self.counts.copy(),
        }
        return Snapshot("Ranks", arrays=arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal ranks."""
        given = snapshot.of("Ranks")
        rows = given.array("rows", (SAMPLE, None))
        counts = given.integers("counts", (COUNTS,))
        if (counts < 0).any() or counts[SORTED] > SAMPLE or counts[DRAW] >= MODULUS:
            raise SnapshotRefused(f"in a Ranks, the counts are {counts.tolist()}")
        ranks = cls(rows.shape[1])
        ranks.rows[...], ranks.counts[...] = rows, counts
        ranks.ordered[...] = given.array("ordered", ranks.ordered.shape)
        return ranks


@compiled("void(f8[:,::1],i8[::1],f8[::1],f8[::1])", reassociate=True)
def rank_row(ordered: Matrix, counts: NDArray[np.int64], x: Vector, out: Vector) -> None:
    """Write the rank of each cell among the sorted sample, half of those that are equal counted below. O(d)."""
    size = counts[SORTED]
    for j in range(x.size):
        line = ordered[j]
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            if line[middle] < x[j]:
                low = middle + 1
            else:
                high = middle
        below = low
        high = size
        while low < high:
            middle = (low + high) // 2
            if line[middle] <= x[j]:
                low = middle + 1
            else:
                high = middle
        out[j] = (0.5 * (below + low) + 0.5) / (size + 1.0) - 0.5


@compiled("void(f8[:,::1],f8[:,::1],i8[::1],f8[::1])")
def sample_row(rows: Matrix, ordered: Matrix, counts: NDArray[np.int64], x: Vector) -> None:
    """Count the row in: it may take a place in the sample, which may be sorted anew. O(1) a row, but for sorting."""
    counts[SEEN] += 1
    seen = counts[SEEN]
    place = seen - 1
    if seen > SAMPLE:
        counts[DRAW] = (FACTOR * counts[DRAW] + SHIFT) % MODULUS
        place = (counts[DRAW] * seen) // MODULUS
    if place < SAMPLE:
        for j in range(x.size):
            rows[place, j] = x[j]
    if seen >= counts[NEXT]:
        size = min(seen, SAMPLE)
        for j in range(x.size):
            for t in range(size):
                ordered[j, t] = rows[t, j]
            ordered[j, :size].sort()
        counts[SORTED] = size
        counts[NEXT] = seen + max(seen // 4, 1)
