r"""Rows of numbers and categories as wide rows: every value of a column is a token, and so is every pair of two values.

A column of which the first rows hold nothing but 0 and 1 has one token, where it is not 0: a level of a category, or a
flag. A column of other numbers has eight, one for each octile of its first rows, and one more for each of the cuts
between them, since a number that is often the same, such as 0, means more than its neighbours. Which column is which,
and where the cuts are, is settled once, after the first rows, and never by a label.

A token of a column that is not of numbers is that column itself; all others share 2^16 places by their hash. So a
linear model of the wide row knows how columns act together, at O(T²) a row of T tokens; the last `MOST` have pairs.
"""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Snapshot
from aioli.streams.sparse_rows import Indices, SparseChunk

__all__ = ["BUCKETS", "Pairs"]

BITS = 16
BUCKETS = 1 << BITS  # places that tokens of numbers and pairs share; the columns come behind them
SETTLING = 512  # rows after which it is settled what a column is
CUTS = 7
MOST = 48  # tokens of a row that have pairs
Stamps = NDArray[np.int16]  # of each place the last row that has written there: rows come by a few hundreds
Word = Any  # an unsigned integer of 64 bits
GOLDEN: Word = np.uint64(0x9E3779B97F4A7C15)  # 2^64/φ
OTHER: Word = np.uint64(0xC2B2AE3D27D4EB4F)  # an odd number of no pattern, so that the pair (a, b) is not (b, a)
SHIFT: Word = np.uint64(64 - BITS)
HALF: Word = np.uint64(32)


class Pairs:
    """Turns rows into wide rows of tokens and their pairs, and remembers where the cuts of each column are.

    Parameters
    ----------
    paired
        False leaves out all but the columns themselves.
    """

    def __init__(self, paired: bool = True) -> None:
        self.paired = paired
        self.cuts: Matrix = np.zeros((0, CUTS))  # of each column of numbers; the last comes again where there are fewer
        self.numeric: Vector = np.zeros(0)  # 1 for a column of numbers
        self._first: Matrix = np.zeros((0, 0))  # the rows so far, until it is settled
        self.settled = not paired

    @property
    def room(self) -> int:
        """How many rows may come before it is settled what the columns are; 0 where it is."""
        return 0 if self.settled else SETTLING - len(self._first)

    def observe(self, X: Matrix) -> None:
        """Count some of the first rows, at most `room` of them, and settle what the columns are after the last."""
        if self.settled:
            return
        kept = np.zeros((len(self._first) + len(X), X.shape[1]))
        kept[: len(self._first), : self._first.shape[1]] = self._first
        kept[len(self._first) :] = X
        self._first = kept
        if len(kept) >= SETTLING:
            shares = np.arange(1, CUTS + 1) / (CUTS + 1)
            self.cuts, self.numeric = np.zeros((X.shape[1], CUTS)), np.zeros(X.shape[1])
            for j, column in enumerate(kept.T):
                if not np.isin(column, (0.0, 1.0)).all():
                    # a value of the column and no mean of two, so that it can be met again
                    found = np.unique(np.quantile(column, shares, method="lower"))
                    self.cuts[j], self.numeric[j] = np.pad(found, (0, CUTS - found.size), mode="edge"), 1.0
            self._first, self.settled = np.zeros((0, 0)), True

    def tokens(self, X: Matrix, rows: SparseChunk) -> SparseChunk:
        """Return the wide rows: X are the first columns, of which pairs are made, and `rows` all of them."""
        count = len(X)
        cuts, numeric = np.zeros((X.shape[1], CUTS)), np.zeros(X.shape[1])
        cuts[: len(self.cuts)], numeric[: len(self.cuts)] = self.cuts, self.numeric
        tokens = min(X.shape[1], MOST)
        most = X.shape[1] + tokens * (tokens - 1) // 2 if self.paired else 0
        entries = int(rows.indptr[-1] - rows.indptr[0]) + count * most
        indptr: Indices = np.zeros(count + 1, dtype=np.int64)
        indices: Indices = np.empty(entries, dtype=np.int64)
        data, norms = np.ones(entries), np.empty(count)
        stamps: Stamps = np.full(BUCKETS, -1, dtype=np.int16)  # small: a single row would spend most of its time here
        entries_of_rows = rows.indptr, rows.indices, rows.data
        used = expand(X, cuts, numeric, *entries_of_rows, self.paired, stamps, indptr, indices, data, norms)
        return SparseChunk(indptr, indices[:used], data[:used], norms)

    def snapshot(self) -> Snapshot:
        """Return the cuts, and the first rows until it is settled."""
        values = {"paired": self.paired, "settled": self.settled}
        arrays = {"cuts": self.cuts.copy(), "numeric": self.numeric.copy(), "first": self._first.copy()}
        return Snapshot("Pairs", values, arrays)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal ones from a snapshot."""
        pairs = cls(snapshot.of("Pairs").flag("paired"))
        pairs.settled = snapshot.flag("settled")
        pairs.cuts = snapshot.array("cuts", (None, CUTS)).copy()
        pairs.numeric = snapshot.array("numeric", (len(pairs.cuts),)).copy()
        pairs._first = snapshot.array("first", (None, None)).copy()
        return pairs


@compiled("u8(u8,u8)")
def mixed(a: Word, b: Word) -> Word:
    """Return a number that looks random and depends on both, in this order. O(1)."""
    word = a * GOLDEN + b * OTHER
    word ^= word >> HALF
    word *= GOLDEN
    word ^= word >> HALF
    return word * OTHER


@compiled("i8(f8[::1],f8)")
def octile(cuts: Vector, value: float) -> int:
    """Return in which part of the column the value lies, the cuts themselves being parts. O(1)."""
    part = 0
    for k in range(cuts.size):
        if value == cuts[k]:
            part = 2 * k + 1
        elif value > cuts[k]:
            part = 2 * k + 2
    return part


@compiled("b1(u8,i8,i2[::1],i8,i8[::1],f8[::1])")
def put(token: Word, t: int, stamps: Stamps, used: int, out_indices: Indices, out_data: Vector) -> bool:
    """Write a 1 at the place of the token; return False where row t has written there already. O(1)."""
    place = np.int64(token >> SHIFT)
    if stamps[place] == t:
        return False
    stamps[place] = t
    out_indices[used] = place
    out_data[used] = 1.0
    return True


@compiled("i8(f8[:,::1],f8[:,::1],f8[::1],i8[::1],i8[::1],f8[::1],b1,i2[::1],i8[::1],i8[::1],f8[::1],f8[::1])")
def expand(
    X: Matrix,
    cuts: Matrix,
    numeric: Vector,
    indptr: Indices,
    indices: Indices,
    data: Vector,
    paired: bool,
    stamps: Stamps,
    out_indptr: Indices,
    out_indices: Indices,
    out_data: Vector,
    norms: Vector,
) -> int:
    """Write the tokens of each row and the places of their pairs, none of them twice; return how many. O(T²) a row."""
    used = 0
    tokens: NDArray[np.uint64] = np.empty(X.shape[1], dtype=np.uint64)
    for t in range(len(X)):
        norm2 = 0.0
        for i in range(indptr[t], indptr[t + 1]):
            j = indices[i]
            if j >= X.shape[1] or not paired or (numeric[j] == 0.0 and data[i] == 1.0):
                out_indices[used] = BUCKETS + j
                out_data[used] = data[i]
                norm2 += data[i] * data[i]
                used += 1
        if paired:
            count = 0
            for j in range(X.shape[1]):
                part = octile(cuts[j], X[t, j]) if numeric[j] > 0.0 else -1
                if part < 0 and X[t, j] != 1.0:
                    continue
                tokens[count] = mixed(np.uint64(j + 1), np.uint64(part + 2))
                if part >= 0 and put(tokens[count], t, stamps, used, out_indices, out_data):
                    used += 1
                    norm2 += 1.0
                count += 1
            for a in range(max(0, count - MOST), count):
                for b in range(a + 1, count):
                    if put(mixed(tokens[a], tokens[b]), t, stamps, used, out_indices, out_data):
                        used += 1
                        norm2 += 1.0
        out_indptr[t + 1] = used
        norms[t] = math.sqrt(norm2)
    return used
