r"""Replaces cells by their ranks: a tree then depends neither on a column's units, nor on how far out a cell is.

A column's value x becomes its rank u = F(x) among a sample of the rows so far. F goes through at most 64 quantiles, in
straight lines between them; beyond the least and the greatest it bends to $\pm 0.1\,t/(1+t)$, t being the distance in
widths of the sample, so a cell at $10^6$ deviations is a tenth of a rank away and no more. F is made anew at 16, 64,
256, … rows; boxes and thresholds of trees, which are ranks, are carried over by
$F_\mathrm{new} \circ F_\mathrm{old}^{-1}$.
"""

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["Ranks", "mutual_information", "rank_rows"]

KNOTS = 64  # quantiles that a column has at most
BEYOND = 0.1  # ranks by which a cell can be outside of the sample, at most
ORDER = 1e-9  # keeps the ranks of different values apart
FARTHEST = 1.0 - 1e-9  # the most that t/(1+t) may be for the inverse of F to be finite
BINS = 8  # of ranks, for the mutual information of a column and the label


class Ranks:
    """Hold F of every column: its quantiles, the knots, and their ranks.

    Parameters
    ----------
    sample
        Rows, as many as one likes: the quantiles are theirs. O(d n log n).
    """

    def __init__(self, sample: Matrix) -> None:
        rows, width = sample.shape
        self.values: Matrix = np.zeros((width, KNOTS))
        self.positions: Matrix = np.zeros((width, KNOTS))
        self.counts = np.zeros(width, dtype=np.int64)
        ordered = np.sort(np.ascontiguousarray(sample.T), axis=1)
        nearest = np.linspace(0, rows - 1, KNOTS).round().astype(np.int64)
        fit_knots(ordered, nearest, self.values, self.positions, self.counts)

    @property
    def varying(self) -> int:
        """How many columns have more than one value in the sample."""
        return int(np.count_nonzero(self.counts > 1))

    def of(self, X: Matrix) -> Matrix:
        """Return F of every cell: the ranks of rows. O(d log 64) a row."""
        U = np.empty(X.shape)
        rank_rows(self.values, self.positions, self.counts, X, U)
        return U

    def back(self, j: int, u: Vector) -> Vector:
        r"""Return $F_j^{-1}(u)$, values of column j that have these ranks."""
        knots, ranks = self.values[j, : self.counts[j]], self.positions[j, : self.counts[j]]
        reach = _reach(knots)
        x = np.interp(u, ranks, knots)
        below, above = (np.clip(gap / BEYOND, 0.0, FARTHEST) for gap in (ranks[0] - u, u - ranks[-1]))
        return np.asarray(x - reach * below / (1.0 - below) + reach * above / (1.0 - above))

    def column(self, j: int, x: Vector) -> Vector:
        """Return $F_j(x)$, the ranks of values of column j."""
        out = np.empty((x.size, 1))
        part = slice(j, j + 1)
        rank_rows(self.values[part], self.positions[part], self.counts[part], np.ascontiguousarray(x[:, None]), out)
        return out[:, 0]

    def carried(self, before: Self, j: int, u: Matrix) -> Matrix:
        r"""Return $F_\mathrm{new}(F_\mathrm{old}^{-1}(u))$: earlier ranks of column j in these ranks."""
        return self.column(j, before.back(j, u.ravel())).reshape(u.shape)

    def grown(self, columns: int) -> Self:
        """Return the ranks with new columns that have been 0 in every row so far."""
        grown = type(self)(np.zeros((1, self.counts.size + columns)))
        for name in ("values", "positions", "counts"):
            vars(grown)[name][: self.counts.size] = vars(self)[name]
        grown.positions[self.counts.size :, 0] = 0.5
        return grown

    def snapshot(self) -> Snapshot:
        """Return the quantiles and their ranks."""
        arrays: dict[str, Array] = {"values": self.values.copy(), "positions": self.positions.copy()}
        return Snapshot("Ranks", arrays=arrays | {"counts": self.counts.copy()})

    @classmethod
    def restore(cls, snapshot: Snapshot, width: int) -> Self:
        """Make equal ranks from a snapshot, for `width` columns."""
        given = snapshot.of("Ranks")
        ranks = cls(np.zeros((1, width)))
        ranks.values[...] = given.array("values", (width, KNOTS))
        ranks.positions[...] = given.array("positions", (width, KNOTS))
        ranks.counts[...] = np.clip(given.integers("counts", (width,)), 1, KNOTS)
        return ranks


def mutual_information(U: Matrix, codes: NDArray[np.int64], classes: int) -> Vector:
    r"""Return how many nats each column tells of the label, beyond chance: $\max(I - 7(K-1)/2n, 0)$. O(nd).

    I is the mutual information of the label and of the column's rank in 8 bins; $7(K-1)/2n$ is its mean where the two
    are independent.
    """
    said = np.empty(U.shape[1])
    nats_of_columns(U, codes, np.empty((BINS, classes)), said)
    return np.asarray(np.maximum(said - (BINS - 1) * (classes - 1) / (2.0 * codes.size), 0.0))


@compiled("void(f8[:,::1],i8[::1],f8[:,::1],f8[:,::1],i8[::1])")
def fit_knots(
    ordered: Matrix, nearest: NDArray[np.int64], values: Matrix, positions: Matrix, counts: NDArray[np.int64]
) -> None:
    """Write each column's knots and their ranks, given its values in order. O(dn).

    Where values are more than 64, those at the places `nearest` become knots. Equal values have their middle rank.
    """
    n = ordered.shape[1]
    for j in range(len(ordered)):
        column = ordered[j]
        distinct = 1
        for t in range(1, n):
            distinct += column[t] != column[t - 1]
        few, count, begin, i = distinct <= KNOTS, 0, 0, 0
        while begin < n:
            end = begin + 1
            while end < n and column[end] == column[begin]:
                end += 1
            while i < nearest.size and nearest[i] < begin:
                i += 1
            if few or (i < nearest.size and nearest[i] < end):
                values[j, count] = column[begin]
                positions[j, count] = (begin + end) / (2.0 * n) + ORDER * count
                count += 1
            begin = end
        counts[j] = count


@compiled("void(f8[:,::1],i8[::1],f8[:,::1],f8[::1])")
def nats_of_columns(U: Matrix, codes: NDArray[np.int64], table: Matrix, said: Vector) -> None:
    """Write the mutual information, in nats, of the label and of each column's rank in 8 bins. O(n) a column."""
    n, K = len(codes), table.shape[1]
    for j in range(U.shape[1]):
        table[:] = 0.0
        for t in range(n):
            table[min(max(int(U[t, j] * BINS), 0), BINS - 1), codes[t]] += 1.0
        for b in range(BINS):
            for k in range(K):
                table[b, k] /= n
        nats = 0.0
        for k in range(K):
            share = 0.0
            for b in range(BINS):
                share += table[b, k]
            for b in range(BINS):
                here = 0.0
                for other in range(K):
                    here += table[b, other]
                if table[b, k] > 0.0:
                    nats += table[b, k] * math.log(table[b, k] / (here * share))
        said[j] = nats


def _reach(knots: Vector) -> float:
    """Return the unit of distance beyond the sample: its width, or the size of its one value, or 1."""
    if knots.size > 1:
        return float(knots[-1] - knots[0])
    return abs(float(knots[0])) or 1.0


@compiled("f8(f8)")
def bent(gap: float) -> float:
    """Return t/(1+t) for a gap t; beyond 1e8 as 1 - 1/(1+t), since the rounded quotient may fall as t grows."""
    return float(gap / (1.0 + gap) if gap < 1e8 else 1.0 - 1.0 / (1.0 + gap))


@compiled("void(f8[:,::1],f8[:,::1],i8[::1],f8[:,::1],f8[:,::1])")
def rank_rows(values: Matrix, positions: Matrix, counts: NDArray[np.int64], X: Matrix, U: Matrix) -> None:
    """Write the rank of every cell of X to U. O(d log 64) a row."""
    for j in range(X.shape[1]):
        last = counts[j] - 1
        low, high = values[j, 0], values[j, last]
        reach = high - low if last > 0 else abs(low)
        if reach == 0.0:
            reach = 1.0
        for t in range(X.shape[0]):
            x = X[t, j]
            if x < low:
                gap = (low - x) / reach
                U[t, j] = positions[j, 0] - BEYOND * bent(gap)
            elif x > high:
                gap = (x - high) / reach
                U[t, j] = positions[j, last] + BEYOND * bent(gap)
            else:
                i, k = 0, last
                while k - i > 1:
                    middle = (i + k) // 2
                    if values[j, middle] <= x:
                        i = middle
                    else:
                        k = middle
                if x == values[j, k]:
                    U[t, j] = positions[j, k]
                else:
                    share = (x - values[j, i]) / (values[j, k] - values[j, i]) if k > i else 0.0
                    U[t, j] = positions[j, i] + share * (positions[j, k] - positions[j, i])
