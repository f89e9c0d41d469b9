r"""A companion for rows most of whose columns say nothing: all of Auto's experts again, on the columns that matter.

A learner of d columns pays for every one of them, about half a nat a column each time the rows double, and a hundred
columns of noise cost a kernel or a tree far more. So at n = 16, 24, 32, 48, …, 256, 512, …, 4,096 rows each column is
tested against the label, by ranks in eights ($G = 2n\,I \sim \chi^2_7$, I the mutual information) and by the
correlation of ranks ($-(n-2)\ln(1-r^2) \sim \chi^2_1$), at a level of 1/(3m), m the larger of n and 2d: the more rows,
the fewer columns pass by chance, and few rows must not choose many. Then the column is added whose ranks say most of
what the chosen ones leave of the label, as long as one passes the second test: so a column counts that says something
only beside others. Where at least 16 columns and half of them fail all tests, an ensemble plays on the others, and
first plays the rows so far, which are kept until then. It is made anew when a later test chooses other columns.
Otherwise the companion says what the linear experts say, and costs nothing; so too where the columns not chosen say
together more than twice what chance would ($\chi^2$ above 2 a column, where Akaike's criterion would have them all).

From 64 rows on, columns of two values join those chosen, one by one, at a level of 1/10: one that says nothing costs a
tree or a kernel little, since a path splits it once, where columns of many values can be split without end; and
categories that say little one by one tell rows apart together. Of more than 512 columns each is tested by itself alone:
what several say together takes d³ steps, seconds in the middle of a stream.

A column that matters only multiplied with others passes no test: the experts that read all columns are there for it.
Nor can any learner know at the first row which k of d columns matter: that costs about $\ln\binom dk$ nats.
"""

import math
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aioli.errors import SnapshotRefused
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.learners.auto.companions import Companion
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.logistic import finite_logit, finite_logit_many
from aioli.numerics.threads import one_blas_thread
from aioli.snapshots.tree import Array, Snapshot

__all__ = ["ChosenColumns", "columns_that_matter"]

FIRST, LAST = 16, 4096  # rows at the first and at the last choice
OFTEN = 256  # rows up to which there is a choice between those at powers of two: it then changes most, and costs least
ROOM = 1 << 24  # bytes of rows kept: of wide rows fewer, and then the last choice comes sooner
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
    """Return the columns that say more of the label than chance would; none where that is most.

    O(nd log n) of more than 512 columns; of fewer, O(nd² + d³) besides.
    """
    n, d = X.shape
    ordered = np.sort(X, axis=0)
    U = np.empty((n, d))  # ranks, and their mean where values are equal
    elsewhere = np.empty(d)  # rows that have not the column's most frequent value
    for j in range(d):
        below, upto = (np.searchsorted(ordered[:, j], X[:, j], side) for side in ("left", "right"))
        U[:, j] = (below + upto) / (2.0 * n)
        elsewhere[j] = n - (upto - below).max()
    level = np.where(elsewhere * min(y.mean(), 1.0 - y.mean()) >= EXPECTED, LEVEL / max(n, 2 * d), 0.0)
    bins = np.minimum((U * BINS).astype(np.int64), BINS - 1)
    cells = (np.arange(d) * BINS + bins) * 2 + (y == 1.0)[:, None]
    counts = np.bincount(cells.ravel(), minlength=2 * BINS * d).reshape(d, BINS, 2) / n
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
            chosen = (by_bins < level) | (_chance_of_one(-(n - 2) * np.log1p(-squared)) < level)
            return np.flatnonzero(chosen if chosen.sum() <= most else chosen[:0]).astype(np.int64)
        C = scores.T @ scores
        chosen = (by_bins < level) | (_chance_beside(C, 0, n) < level)
        _add_columns(chosen, C, n, level, most + 1)
        if not 0 < chosen.sum() <= most:
            return np.empty(0, dtype=np.int64)
        if n >= ENOUGH:
            of_two = ((ordered[0] == X) | (ordered[-1] == X)).all(axis=0)
            _add_columns(chosen, C, n, np.where(of_two & (level > 0.0), OF_TWO_VALUES, 0.0), d)
        matter = np.flatnonzero(chosen).astype(np.int64)
        return matter[:0] if _said_by_others(chosen, C, n) > TOGETHER else matter


def _add_columns(chosen: NDArray[np.bool_], C: Matrix, n: int, level: Vector, most: int) -> None:
    """Choose columns one by one, up to `most`: the one that says most beside those chosen, given all correlations."""
    if chosen.sum() >= most:
        return
    d, C = chosen.size, _beside(chosen, C)
    while (count := int(chosen.sum())) < most:
        passing = ~chosen & (_chance_beside(C, count, n) < level)
        if not passing.any():
            return
        said = C[:d, d] ** 2 / np.maximum(np.diag(C)[:d], COLLINEAR)
        best = int(np.where(passing, said, -1.0).argmax())
        chosen[best] = True
        C -= np.outer(C[:, best], C[best] / C[best, best])


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


def _chance_beside(C: Matrix, chosen: int, n: int) -> Vector:
    """Return the chance that a column that says nothing is so correlated with the label; C is what chosen ones left."""
    left, degrees = np.diag(C), n - chosen - 2
    if degrees < 1 or left[-1] < COLLINEAR:
        return np.ones(len(C) - 1)
    squared = np.where(left[:-1] > COLLINEAR, C[:-1, -1] ** 2 / (np.maximum(left[:-1], COLLINEAR) * left[-1]), 0.0)
    return _chance_of_one(-degrees * np.log1p(-np.minimum(squared, 1.0 - 1e-12)))


def _chance_of_one(squared: Vector) -> Vector:
    r"""Return $P(\chi^2_1 > x) = \mathrm{erfc}\sqrt{x/2}$."""
    return np.array([math.erfc(math.sqrt(0.5 * x)) for x in squared.tolist()])


def _chance_of_seven(squared: Vector) -> Vector:
    r"""Return $P(\chi^2_7 > x) = \mathrm{erfc}\sqrt{x/2} + \sqrt{2x/\pi}\,e^{-x/2}(1 + x/3 + x^2/15)$."""
    tail = np.sqrt(2.0 * squared / math.pi) * np.exp(-0.5 * squared) * (1.0 + squared / 3.0 + squared**2 / 15.0)
    return _chance_of_one(squared) + tail


class ChosenColumns(Companion):
    """Play an ensemble on the columns that have shown to matter; say NaN, that is nothing of its own, without one.

    Parameters
    ----------
    make
        Makes the ensemble, which has learned from no row.
    """

    names = ("all of these on the columns that matter",)
    joined_later = True

    def __init__(self, make: Callable[[], BendingEnsemble]) -> None:
        self._make = make
        self._columns: Columns = np.empty(0, dtype=np.int64)
        self._ensemble: BendingEnsemble | None = None
        self._table: Matrix | None = None  # the rows so far, labels and weights behind them; None after the last choice
        self._rows = 0

    def consult(self, X: Matrix) -> Matrix:
        """Return the log-odds of each row, as if it came next; changes nothing."""
        if self._ensemble is None:
            return np.full((len(X), 1), np.nan)
        rows = np.ascontiguousarray(X[:, self._columns])
        if len(rows) == 1:  # a single row has a faster path
            return np.array([[self._ensemble.predict_logit(rows[0])]])
        return self._ensemble.predict_logit_many(rows)[:, None]

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Learn from the rows in order; return the log-odds of each row before its label."""
        said = np.full((len(X), 1), np.nan)
        first = 0
        while first < len(X):
            due = self._due(X.shape[1])
            part = slice(first, len(X) if due is None else min(len(X), first + due - self._rows))
            if self._ensemble is not None:
                said[part, 0] = self._learned(X[part][:, self._columns], y[part], weights[part])
            if due is None:
                self._table = None
            else:
                self._keep(due, X[part], y[part], weights[part])
            self._rows += part.stop - first
            first = part.stop
            if self._rows == due:
                self._choose()
        return said

    @property
    def unsettled(self) -> bool:
        """Whether it plays, and a later choice may change on which columns."""
        return self._ensemble is not None and self._table is not None

    @property
    def _kept(self) -> Matrix | None:
        """The rows so far, their labels and weights behind them; None after the last choice."""
        return None if self._table is None else self._table[: self._rows]

    def _keep(self, due: int, X: Matrix, y: Vector, weights: Vector) -> None:
        """Keep rows until the next choice, for which there is room at once."""
        last, width = self._rows + len(X), X.shape[1]
        if self._table is None or len(self._table) < due:
            larger = np.zeros((due, width + 2))
            if self._table is not None:
                larger[: self._rows] = self._table[: self._rows]
            self._table = larger
        new = self._table[self._rows : last]
        new[:, :width], new[:, width], new[:, width + 1] = X, y, weights

    def grow(self, columns: int) -> None:
        """Make room for new columns, 0 in all rows so far: the next choice may take them."""
        if self._table is not None:
            last = self._table.shape[1] - 2
            self._table = np.insert(self._table, [last] * columns, 0.0, axis=1)

    def snapshot(self) -> Snapshot:
        """Return the columns chosen, the ensemble, and the rows kept for the next choice."""
        kept = np.empty((0, 0)) if self._kept is None else self._kept.copy()
        parts = {} if self._ensemble is None else {"ensemble": self._ensemble.snapshot()}
        arrays: dict[str, Array] = {"columns": self._columns.copy(), "kept": kept}
        return Snapshot("ChosenColumns", {"rows": self._rows}, arrays, parts)

    def recalled(self, snapshot: Snapshot) -> Self:
        """Return an equal companion, which plays the same ensembles as this one."""
        given = snapshot.of("ChosenColumns")
        made = type(self)(self._make)
        made._rows = given.whole("rows")
        made._columns = given.integers("columns", (None,)).copy()
        kept = given.array("kept", (None, None))
        if len(kept):
            if len(kept) != made._rows or kept.shape[1] < 3 or (made._columns >= kept.shape[1] - 2).any():
                raise SnapshotRefused("in a ChosenColumns, the rows kept are not those that came")
            made._table = kept.copy()
        if (made._columns < 0).any() or bool(made._columns.size) != ("ensemble" in given.parts):
            raise SnapshotRefused("in a ChosenColumns, the columns are not those of its ensemble")
        if "ensemble" in given.parts:
            made._ensemble = made._make().recall(given.part("ensemble"))
            if made._ensemble.n_features_ != made._columns.size:
                raise SnapshotRefused("in a ChosenColumns, the columns are not those of its ensemble")
        return made

    # ---- within

    def _due(self, width: int) -> int | None:
        """Return at how many rows the next choice is due; None after the last, or where rows have not been kept."""
        # no choice was possible at that width (too narrow, or too wide to keep), or the last has been made
        if self._rows and self._table is None:
            return None
        most = min(LAST, ROOM // (8 * (width + 2)))
        due = FIRST
        while due <= self._rows:
            between = due & (due - 1) == 0 and due < OFTEN
            due = due * 3 // 2 if between else 1 << due.bit_length()
        return due if due <= most and width >= IDLE else None

    def _learned(self, X: Matrix, y: Vector, weights: Vector) -> Vector:
        assert self._ensemble is not None
        rows = np.ascontiguousarray(X)
        if len(rows) == 1:  # a single row has a faster path
            return np.array([finite_logit(self._ensemble.learn(rows[0], y.item(), weights.item()))])
        return finite_logit_many(self._ensemble.learn_many(rows, y, weights))

    def _choose(self) -> None:
        """Test the columns; make an ensemble where few matter, anew where the one that plays has others."""
        kept = self._kept
        assert kept is not None
        X, y, weights = np.ascontiguousarray(kept[:, :-2]), kept[:, -2].copy(), kept[:, -1].copy()
        if self._due(X.shape[1]) is None:
            self._table = None
        matter = columns_that_matter(X, y)
        if not matter.size:
            self._ensemble, self._columns = None, matter
        elif not np.array_equal(matter, self._columns):
            self._ensemble, self._columns = self._make(), matter
            self._learned(X[:, matter], y, weights)
