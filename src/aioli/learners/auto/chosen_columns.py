r"""Plays linear experts, boosted trees and later random features a second time, on the columns that matter.

Most columns may tell nothing of the label. A learner of d columns pays for every one of them, about half a nat a column
each time the rows double, and a hundred columns of noise cost a kernel or a tree far more. So at n = 16, 24, 32, 48, …,
256, 512, …, 4,096 rows the columns are tested against the label (`learners.auto.column_tests` has the tests and their
formulas), each by itself at a level of 1/(3m), m the larger of n and 2d: the more rows, the fewer columns pass by
chance, and few rows must not choose many. Then columns are added that tell something beside those chosen. Where at
least 16 columns, and half of them, fail all tests, an ensemble plays on the others. It first learns the rows so far,
which are kept until the last test, and is made anew when a later test chooses other columns. Otherwise this companion
says what the linear experts say, and costs nothing; so too where the columns not chosen tell together more than twice
what chance would.

From 64 rows on, columns of two values join those chosen, one by one, at a level of 1/10: one that tells nothing costs a
tree or a kernel little, since a path splits it once, where columns of many values can be split without end; and
categories that tell little one by one may tell much together. Of more than 512 columns each is tested by itself alone:
testing columns beside others takes d³ steps, seconds in the middle of a stream.

A column that has had one value so far is left out of all this: it may appear later, as categories do. So a stream in
which a column appears later is played exactly as one in which it was there, and 0, from the first row on.

A column that matters only multiplied with others passes no test: the experts that read all columns are there for it.
Nor can any learner know at the first row which k of d columns matter: that costs about $\ln\binom dk$ nats.
"""

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.learners.auto.bending_ensemble import BendingEnsemble
from aioli.learners.auto.column_tests import Columns, columns_that_matter
from aioli.learners.auto.companions import Companion
from aioli.numerics.compiling import Matrix, Vector
from aioli.numerics.copying import copy_record
from aioli.numerics.logistic import finite_logit, finite_logit_many
from aioli.snapshots.tree import Array, Plain, Snapshot

__all__ = ["ChosenColumns"]

FIRST, LAST = 16, 4096  # rows at the first and at the last choice
OFTEN = 256  # rows below which there is a choice between powers of two as well: it then changes most and costs least
FEW_ROWS, MANY_ROWS = 0, 1  # places among the makers
NOTHING = math.nan  # the answer where there is no ensemble
ROOM = 1 << 24  # bytes of rows that are kept at most: with wide rows, the last choice comes sooner


class ChosenColumns(Companion):
    """Play an ensemble on the columns that matter; where there is none, answer NaN: nothing of its own.

    Parameters
    ----------
    makers
        Of ensembles that have learned from no row: those made before the 256th row, when they are made often and more
        would cost much; those made later; and those that files of earlier versions hold, and go on with.
    """

    names = ("all of these on the columns that matter",)

    def __init__(self, makers: Sequence[Callable[[], BendingEnsemble]]) -> None:
        self._makers, self._version = makers, 0
        self._columns: Columns = np.empty(0, dtype=np.int64)
        self._ensemble: BendingEnsemble | None = None
        self._table: Matrix | None = None  # the rows so far, labels and weights behind them; None after the last choice
        self._rows = 0
        self._late = False
        self._gaps: Sequence[tuple[int, int]] = ()

    def consult(self, X: Matrix) -> Matrix:
        """Return the log-odds of each row, as if it came next; changes nothing."""
        if self._ensemble is None:
            return np.full((len(X), 1), NOTHING)
        return self._ensemble.predict_logit_many(np.ascontiguousarray(X[:, self._columns]))[:, None]

    def prepared_consult(self, X: Matrix, out: Matrix) -> Callable[[], None]:
        """Return the call that writes, again and again, what `consult` says of the only row of X."""

        def consult() -> None:
            chosen = self._ensemble
            out[0, 0] = NOTHING if chosen is None else chosen.predict_logit(X[0, self._columns])

        return consult

    def play(self, X: Matrix, y: Vector, weights: Vector) -> Matrix:
        """Learn from the rows in order; return the log-odds of each row before its label."""
        said = np.full((len(X), 1), NOTHING)
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

    def prepared(self, X: Matrix, y: Vector, weights: Vector, out: Matrix) -> Callable[[], None]:
        """Return the call that plays, again and again, the only row of these arrays, as `play` does, into `out`."""

        def play() -> None:
            chosen = self._ensemble
            if not self._kept_at_once(X, y, weights):
                out[...] = self.play(X, y, weights)
            elif chosen is None:
                out[0, 0] = NOTHING
            else:
                out[0, 0] = finite_logit(chosen.learn(X[0, self._columns], y.item()))

        return play

    def fits(self, columns: int) -> bool:
        """Return whether the rows kept, and the columns chosen, are of rows of so many columns."""
        kept = self._table is None or self._table.shape[1] == columns + 2
        return kept and int(self._columns.max(initial=-1)) < columns

    @property
    def _kept(self) -> Matrix | None:
        """The rows so far, their labels and weights behind them; None after the last choice."""
        return None if self._table is None else self._table[: self._rows]

    def _kept_at_once(self, X: Matrix, y: Vector, weights: Vector) -> bool:
        """Keep one row if there is room and no choice is due, or count it after the last choice; return whether so."""
        table, rows = self._table, self._rows
        if table is None:
            if not rows:
                return False
        elif rows + 1 >= len(table):  # the table has room up to the next choice, and no more
            return False
        else:
            copy_record(X, y, weights, table, rows)
        self._rows = rows + 1
        return True

    def _keep(self, due: int, X: Matrix, y: Vector, weights: Vector) -> None:
        """Keep rows for the next choice; make room for all that come before it, where there is none."""
        last, width = self._rows + len(X), X.shape[1]
        if self._table is None or len(self._table) < due:
            larger = np.zeros((due, width + 2))
            if self._table is not None:
                larger[: self._rows] = self._table[: self._rows]
            self._table = larger
        new = self._table[self._rows : last]
        new[:, :width], new[:, width], new[:, width + 1] = X, y, weights

    def labels_come_late(self) -> None:
        """Tell the ensemble, and those to come."""
        self._late = True
        if self._ensemble is not None:
            self._ensemble.labels_come_late()

    def mark_gaps(self, gaps: Sequence[tuple[int, int]]) -> None:
        """Tell the ensemble, and those to come, of the columns that they read."""
        self._gaps = gaps
        if self._ensemble is not None:
            own = {column: place for place, column in enumerate(self._columns.tolist())}
            self._ensemble.mark_gaps([(own[j], own[m]) for j, m in gaps if j in own and m in own])

    def grow(self, columns: int) -> None:
        """Add new columns to the rows kept, 0 in all of them: the next choice may take them."""
        if self._table is not None:
            last = self._table.shape[1] - 2
            # without room for more: for wider rows, the next choice may be the last, or not come
            self._table = np.insert(self._table[: self._rows], [last] * columns, 0.0, axis=1)

    def snapshot(self) -> Snapshot:
        """Return the columns chosen, the ensemble, and the rows kept for the next choice."""
        kept = np.empty((0, 0)) if self._kept is None else self._kept.copy()
        parts = {} if self._ensemble is None else {"ensemble": self._ensemble.snapshot()}
        arrays: dict[str, Array] = {"columns": self._columns.copy(), "kept": kept}
        values: dict[str, Plain] = {"rows": self._rows, "version": self._version, "late": self._late}
        return Snapshot("ChosenColumns", values, arrays, parts)

    def recalled(self, snapshot: Snapshot) -> Self:
        """Return an equal companion, which plays the same ensembles as this one."""
        given = snapshot.of("ChosenColumns")
        made = type(self)(self._makers)
        made._rows = given.whole("rows")
        made._version = self._version_of(given)
        made._late = given.flag("late") if "late" in given.values else False
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
            if made._late:
                made._ensemble.labels_come_late()
            if made._ensemble.n_features_ != made._columns.size:
                raise SnapshotRefused("in a ChosenColumns, the columns are not those of its ensemble")
        return made

    # ---- within

    def _make(self) -> BendingEnsemble:
        return self._makers[self._version]()

    def _version_of(self, given: Snapshot) -> int:
        """Return which ensembles a snapshot goes on with; files of earlier versions do not say so."""
        if "version" in given.values:
            version: int = min(given.whole("version", 0), len(self._makers) - 1)
            return version
        if "ensemble" in given.parts:
            known = given.part("ensemble")
            return next((i for i, make in enumerate(self._makers) if make().has_members_of(known)), MANY_ROWS)
        return len(self._makers) - 1 if "earlier" in given.values else MANY_ROWS

    def _due(self, width: int) -> int | None:
        """Return at how many rows the next choice is due; None after the last, or where rows have not been kept."""
        if self._rows and self._table is None:  # rows were too wide to keep, or the last choice has been made
            return None
        most = min(LAST, ROOM // (8 * (width + 2)))
        due = FIRST
        while due <= self._rows:
            between = due & (due - 1) == 0 and due < OFTEN
            due = due * 3 // 2 if between else 1 << due.bit_length()
        return due if due <= most else None

    def _learned(self, X: Matrix, y: Vector, weights: Vector) -> Vector:
        assert self._ensemble is not None
        rows = np.ascontiguousarray(X)
        if len(rows) == 1:  # `learn` is faster for a single row
            return np.array([finite_logit(self._ensemble.learn(rows[0], y.item(), weights.item()))])
        return finite_logit_many(self._ensemble.learn_many(rows, y, weights))

    def _choose(self) -> None:
        """Test the columns; make a new ensemble where few matter and others than before, and none where most do."""
        kept = self._kept
        assert kept is not None
        X, y, weights = np.ascontiguousarray(kept[:, :-2]), kept[:, -2].copy(), kept[:, -1].copy()
        if self._due(X.shape[1]) is None:
            self._table = None
        matter = columns_that_matter(X, y)
        joined = self._version == FEW_ROWS and self._rows >= OFTEN  # by the companions that play where rows are many
        if joined:
            self._version = MANY_ROWS
        anew = joined or not np.array_equal(matter, self._columns)
        if not matter.size:
            self._ensemble, self._columns = None, matter
        elif anew:
            self._ensemble, self._columns = self._make(), matter
            if self._late:
                self._ensemble.labels_come_late()
            self.mark_gaps(self._gaps)
            self._learned(X[:, matter], y, weights)
