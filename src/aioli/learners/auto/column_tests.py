r"""Tests which columns say something of the label: by themselves, and beside those that have passed.

At n rows of d columns each column is tested by ranks in eights ($G = 2n\,I \sim \chi^2_7$, I the mutual information)
and by the correlation of ranks ($-(n-2)\ln(1-r^2) \sim \chi^2_1$); then the column is added whose ranks say most of
what the chosen ones leave of the label, as long as one passes the second test. `learners.auto.chosen_columns` tells at
which levels, and why.
"""

import math

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled, elementwise
from aioli.numerics.threads import one_blas_thread

__all__ = ["IDLE", "Columns", "columns_that_matter"]

BINS = 8  # of ranks
IDLE = 16  # columns that must say nothing, and half of all, for the others to be chosen
LEVEL = 1.0 / 3.0  # divided by the rows, or twice the columns: the chance that one which says nothing passes a test
EXPECTED = 2.0  # rows with the rarer label, off the column's most frequent value, without which chances are not known
OF_TWO_VALUES, ENOUGH = 0.1, 64  # the level at which a column of two values joins those chosen, from so many rows on
TOGETHER = 2.0  # times what chance says, by the columns not chosen together: then all are played, none by themselves
TOGETHER_AT_MOST = 512  # columns of which is asked what several say together
COLLINEAR = 1e-6  # of a column's variance, if less is left beside those chosen: it says nothing new

Columns = NDArray[np.int64]


def columns_that_matter(X: Matrix, y: Vector) -> Columns:
    """Return the columns that say more of the label than chance would, of those that vary; none where that is most.

    O(nd log n) of more than 512 columns; of fewer, O(nd² + d³) besides.
    """
    varying = np.flatnonzero((X[0] != X).any(axis=0)).astype(np.int64)
    if varying.size < IDLE:
        return varying[:0]
    return varying[_that_matter(X[:, varying], y)]


def _that_matter(X: Matrix, y: Vector) -> Columns:
    """Return what `columns_that_matter` does, of columns all of which vary."""
    n, d = X.shape
    U = np.empty((n, d))  # ranks, and their mean where values are equal
    elsewhere, distinct = np.empty(d), np.empty(d)  # rows off the column's most frequent value, and all its values
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
    """Write every column's ranks, and count its values, and its ranks in eights by label, given its order. O(nd)."""
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
    r"""Choose columns one by one, up to `most`: the one that says most beside those chosen, given all correlations.

    A column that is chosen takes $cr^\top$ off C. Of what is left, only the diagonal, the label's column, and the row
    and the column of the next one chosen are ever made. O(d) a column chosen before.
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
    """Return what chosen columns leave of all correlations."""
    first = np.flatnonzero(chosen)
    return np.asarray(
        C - C[:, first] @ np.linalg.pinv(C[np.ix_(first, first)], rcond=COLLINEAR, hermitian=True) @ C[first]
    )


def _said_by_others(chosen: NDArray[np.bool_], C: Matrix, n: int) -> float:
    r"""Return the mean $\chi^2_1$ of the columns not chosen, in all directions that they span: 1 if all are noise."""
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
    """Return the chance that a column that says nothing is so correlated with the label.

    `left` and `said` are the diagonal and the label's column of what chosen columns have left of all correlations.
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
