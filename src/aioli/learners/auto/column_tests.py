r"""Tests which columns tell something of the label: each by itself, and beside the columns that have passed.

Over n rows, each of d columns that vary is tested twice, at the level 1/(3m), m the larger of n and 2d:

- by its ranks in 8 bins: $G = 2n\,I \sim \chi^2_7$, I being their mutual information with the label;
- by the correlation r of its ranks with the label: $-(n-2)\ln(1-r^2) \sim \chi^2_1$.

Beside k chosen columns the second test is of the partial correlation, given these: $-(n-k-2)\ln(1-r^2) \sim \chi^2_1$.
As long as one passes, the column with the largest one is added (forward selection). From 64 rows on, columns of two
values are then added likewise at the level 1/10.

No column is returned where fewer than 16 of the d, or less than half, would be left out; nor where those left out tell
together more than twice what chance would: a mean $\chi^2$ above 2 in each direction that they span, the point from
which Akaike's criterion would keep them all. `learners.auto.chosen_columns` tells why, and what the columns are for.
"""

import math

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled, elementwise
from aioli.numerics.threads import one_blas_thread

__all__ = ["Columns", "columns_that_matter"]

BINS = 8  # of ranks; `_chance_of_seven` is for these
IDLE = 16  # columns, and half of all, must fail the tests for the others to be chosen
LEVEL = 1.0 / 3.0  # divided by the rows, or by twice the columns: the chance that a column of noise passes a test
EXPECTED = 2.0  # rows of the rarer label off the column's most frequent value, by chance: with fewer, no test is valid
OF_TWO_VALUES, ENOUGH = 0.1, 64  # the level at which a column of two values joins those chosen, from so many rows on
TOGETHER = 2.0  # the mean χ² of the columns not chosen, 1 by chance, above which no columns are chosen
TOGETHER_AT_MOST = 512  # columns up to which columns are tested beside others: that is O(d³)
COLLINEAR = 1e-6  # share of a column's variance: with less left beside those chosen, it tells nothing new

Columns = NDArray[np.int64]


def columns_that_matter(X: Matrix, y: Vector) -> Columns:
    """Return the columns that tell more of the label than chance would; none where too few would be left out.

    Columns that have one value in all rows are neither tested nor counted. O(nd log n), and for up to 512 columns
    O(nd² + d³) besides.
    """
    varying = np.flatnonzero((X[0] != X).any(axis=0)).astype(np.int64)
    if varying.size < IDLE:
        return varying[:0]
    return varying[_that_matter(X[:, varying], y)]


def _that_matter(X: Matrix, y: Vector) -> Columns:
    """Return what `columns_that_matter` does, where all columns vary."""
    n, d = X.shape
    U = np.empty((n, d))  # ranks; equal values have their mean rank
    elsewhere, distinct = np.empty(d), np.empty(d)  # rows off the most frequent value; number of values
    counts = np.zeros((d, BINS, 2))
    by_columns = np.ascontiguousarray(X.T)
    rank_columns(by_columns, np.argsort(by_columns, axis=1), y, U, elsewhere, distinct, counts)
    level = np.where(elsewhere * min(y.mean(), 1.0 - y.mean()) >= EXPECTED, LEVEL / max(n, 2 * d), 0.0)
    counts /= n
    apart = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True)
    nats = np.where(counts > 0.0, counts * np.log(np.maximum(counts, 1e-300) / np.maximum(apart, 1e-300)), 0.0)
    by_bins = _chance_of_seven(2.0 * n * np.maximum(nats.sum(axis=(1, 2)), 0.0))
    scores = np.column_stack([U, y])
    scores -= scores.mean(axis=0)
    scale = np.sqrt((scores**2).sum(axis=0))
    np.divide(scores, scale, out=scores, where=scale > 0.0)
    most = d - math.ceil(max(IDLE, d / 2))
    with one_blas_thread():
        if d > TOGETHER_AT_MOST:
            squared = np.minimum((scores[:, :d].T @ scores[:, d]) ** 2, 1.0 - 1e-12)
            chosen = (by_bins < level) | (chance_of_one_many(-(n - 2) * np.log1p(-squared)) < level)
            return np.flatnonzero(chosen if chosen.sum() <= most else chosen[:0]).astype(np.int64)
        C = scores.T @ scores
        chosen = (by_bins < level) | (_chance_beside(np.diag(C), C[:, -1], 0, n) < level)
        _add_columns(chosen, C, n, level, most + 1)
        if not 0 < chosen.sum() <= most:
            return np.empty(0, dtype=np.int64)
        if n >= ENOUGH:
            _add_columns(chosen, C, n, np.where((distinct <= 2.0) & (level > 0.0), OF_TWO_VALUES, 0.0), d)
        matter = np.flatnonzero(chosen).astype(np.int64)
        return matter[:0] if _said_by_others(chosen, C, n) > TOGETHER else matter


@compiled("void(f8[:,::1],i8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1],f8[:,:,::1])")
def rank_columns(
    by_columns: Matrix,
    order: NDArray[np.int64],
    y: Vector,
    U: Matrix,
    elsewhere: Vector,
    distinct: Vector,
    counts: Cube,
) -> None:
    """Write every column's ranks, the counts of its values, and of its ranks in 8 bins by label. O(nd).

    `order` sorts each column's values.
    """
    d, n = by_columns.shape
    for j in range(d):
        begin, most, values = 0, 0, 0
        while begin < n:
            end = begin + 1
            while end < n and by_columns[j, order[j, end]] == by_columns[j, order[j, begin]]:
                end += 1
            rank = (begin + end) / (2.0 * n)
            for i in range(begin, end):
                t = order[j, i]
                U[t, j] = rank
                counts[j, min(int(rank * BINS), BINS - 1), 1 if y[t] == 1.0 else 0] += 1.0
            most, values, begin = max(most, end - begin), values + 1, end
        elsewhere[j], distinct[j] = n - most, values


def _add_columns(chosen: NDArray[np.bool_], C: Matrix, n: int, level: Vector, most: int) -> None:
    r"""Choose columns one by one, up to `most`: the largest partial correlation that passes the test at `level`.

    C holds all correlations, the label's last. A chosen column j takes $C_{\cdot j}C_{j\cdot}/C_{jj}$ off C (Gaussian
    elimination). Only the diagonal, the label's column, and row and column of the next one chosen are ever computed:
    O(d) for each column chosen before.
    """
    count = int(chosen.sum())
    if count >= most:
        return
    C = _beside(chosen, C)
    left, said = np.diag(C).copy(), C[:, -1].copy()
    taken: list[tuple[Vector, Vector]] = []
    while count < most:
        passing = ~chosen & (_chance_beside(left, said, count, n) < level)
        if not passing.any():
            return
        best = int(np.where(passing, said[:-1] ** 2 / np.maximum(left[:-1], COLLINEAR), -1.0).argmax())
        chosen[best] = True
        count += 1
        column, row = C[:, best].copy(), C[best].copy()
        for c, r in taken:
            column -= c * r[best]
            row -= c[best] * r
        row /= row[best]
        taken.append((column, row))
        left -= column * row
        said -= column * row[-1]


def _beside(chosen: NDArray[np.bool_], C: Matrix) -> Matrix:
    r"""Return all correlations but for what the chosen columns explain, $C - C_{\cdot S}C_{SS}^+C_{S\cdot}$. O(d³)."""
    first = np.flatnonzero(chosen)
    return np.asarray(
        C - C[:, first] @ np.linalg.pinv(C[np.ix_(first, first)], rcond=COLLINEAR, hermitian=True) @ C[first]
    )


def _said_by_others(chosen: NDArray[np.bool_], C: Matrix, n: int) -> float:
    r"""Return the mean $\chi^2_1$ of the columns not chosen, over the q directions that they span: 1 if all are noise.

    That is $-(n-k-q-1)\ln(1-R^2)/q$, R² being the share of what the k chosen leave of the label's variance
    that these explain.
    """
    others = np.flatnonzero(~chosen)
    C = _beside(chosen, C)
    spread, directions = np.linalg.eigh(C[np.ix_(others, others)])
    spanned = spread > COLLINEAR
    rank, left = int(spanned.sum()), C[-1, -1]
    degrees = n - int(chosen.sum()) - rank - 1
    if degrees < 1 or rank == 0 or left < COLLINEAR:
        return 0.0
    said = ((directions[:, spanned].T @ C[others, -1]) ** 2 / spread[spanned]).sum() / left
    return float(-degrees * math.log1p(-min(said, 1.0 - 1e-12)) / rank)


def _chance_beside(left: Vector, said: Vector, chosen: int, n: int) -> Vector:
    r"""Return the chance that a column of noise has so large a partial correlation: $P(\chi^2_1 > -(n-k-2)\ln(1-r^2))$.

    `left` and `said` are the diagonal and the label's column of the correlations that the k chosen columns leave.
    """
    degrees = n - chosen - 2
    if degrees < 1 or left[-1] < COLLINEAR:
        return np.ones(left.size - 1)
    squared = np.where(left[:-1] > COLLINEAR, said[:-1] ** 2 / (np.maximum(left[:-1], COLLINEAR) * left[-1]), 0.0)
    return chance_of_one_many(-degrees * np.log1p(-np.minimum(squared, 1.0 - 1e-12)))


@compiled("f8(f8)")
def chance_of_one(squared: float) -> float:
    r"""Return $P(\chi^2_1 > x) = \mathrm{erfc}\sqrt{x/2}$. O(1)."""
    return math.erfc(math.sqrt(0.5 * squared))


chance_of_one_many = elementwise(chance_of_one, "f8(f8)")


def _chance_of_seven(squared: Vector) -> Vector:
    r"""Return $P(\chi^2_7 > x) = \mathrm{erfc}\sqrt{x/2} + \sqrt{2x/\pi}\,e^{-x/2}(1 + x/3 + x^2/15)$."""
    tail = np.sqrt(2.0 * squared / math.pi) * np.exp(-0.5 * squared) * (1.0 + squared / 3.0 + squared**2 / 15.0)
    return chance_of_one_many(squared) + tail
