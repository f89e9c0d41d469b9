"""The three plain views of a row from which experts of many classes see more: standard, peak, and running ranks."""

import math
from collections.abc import Callable
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, bound, compiled
from aioli.snapshots.tree import Snapshot
from aioli.states.classes.ranks import Counts, Ranks, rank_row, sample_row
from aioli.states.mixture.view_rows import VIEWS, fill_views, widest_view
from aioli.states.mixture.views import Views

__all__ = ["BASES", "BaseViews"]

BASES = ("standard", "peak", "rank")
STANDARD, PEAK = VIEWS.index("standard"), VIEWS.index("peak")
TOTALS = 2
ROWS, RANK_NORM = range(TOTALS)


class BaseViews:
    """Holds what the columns have shown so far, and makes from it the three views of rows, each with a 1 in front.

    Each is scaled to a mean squared norm of about 1, and blind to the unit and the origin of every column; ranks are
    blind to any increasing transform. A column that was always 0 is 0 in all of them.
    """

    def __init__(self, width: int) -> None:
        self.views = Views(width, bending=False)
        self.ranks = Ranks(width)
        self.totals: Vector = np.zeros(TOTALS)

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return self.views.width

    def of_rows(self, X: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return the three views of rows that come next, and count them in. O(d) a row."""
        made, see = self.prepared(X)
        see()
        return made

    def prepared(self, X: Matrix) -> tuple[tuple[Matrix, Matrix, Matrix], Callable[[], None]]:
        """Return room for the three views of rows, and the call that fills it from X and counts the rows in.

        The call may come again, whenever X holds the rows that come next.
        """
        made = self._empty(X)
        v, r = self.views, self.ranks
        own = v.statistics, v.basis, r.rows, r.ordered, r.counts, self.totals
        return made, bound(see_rows, *own, *self._room(), X, *made)

    def peek(self, X: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return the three views of rows, each as if it came next; changes nothing. O(d) a row."""
        made, see = self.prepared_peek(X)
        see()
        return made

    def prepared_peek(self, X: Matrix) -> tuple[tuple[Matrix, Matrix, Matrix], Callable[[], None]]:
        """Return room for the three views of rows, and the call that fills it, again and again, as `peek` does."""
        made = self._empty(X)
        v, r = self.views, self.ranks
        return made, bound(peek_rows, v.statistics, v.basis, r.ordered, r.counts, self.totals, *self._room(), X, *made)

    def grown(self, columns: int) -> Self:
        """Return the views had so many further columns been there, and 0, from the first row."""
        larger = type(self)(0)
        larger.views, larger.ranks = self.views.grown(columns), self.ranks.grown(columns)
        larger.totals[...] = self.totals
        return larger

    def snapshot(self) -> Snapshot:
        """Return the statistics of the columns and the sample of rows."""
        parts = {"views": self.views.snapshot(), "ranks": self.ranks.snapshot()}
        return Snapshot("BaseViews", arrays={"totals": self.totals.copy()}, parts=parts)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal views."""
        given = snapshot.of("BaseViews")
        made = cls(0)
        made.views, made.ranks = Views.restore(given.part("views")), Ranks.restore(given.part("ranks"))
        made.totals[...] = given.array("totals", (TOTALS,))
        if made.ranks.rows.shape[1] != made.views.width:
            raise SnapshotRefused(f"in a BaseViews, {made.views.width} columns have {made.ranks.rows.shape[1]} ranks")
        return made

    def _room(self) -> tuple[Counts, Matrix]:
        """Return which views are read of `Views`, and room for those of a single row."""
        return np.array([STANDARD, PEAK]), np.empty((len(VIEWS), widest_view(self.width)))

    def _empty(self, X: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        shape = len(X), self.width + 1
        return np.empty(shape), np.empty(shape), np.empty(shape)


@compiled(
    "void(f8[::1],f8[::1],f8[:,::1],i8[::1],f8[::1],f8[::1],i8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1])",
    reassociate=True,
)
def see_row(
    statistics: Vector,
    basis: Vector,
    ordered: Matrix,
    counts: Counts,
    totals: Vector,
    x: Vector,
    kinds: Counts,
    room: Matrix,
    standard: Vector,
    peak: Vector,
    rank: Vector,
) -> None:
    """Count the row into the statistics, though not into the sample, and write its views. O(d)."""
    fill_views(statistics, basis, x, kinds, room)
    rank_row(ordered, counts, x, rank[1:])
    norm2 = 0.0
    for j in range(1, rank.size):
        norm2 += rank[j] * rank[j]
    totals[ROWS] += 1.0
    totals[RANK_NORM] += norm2
    by = math.sqrt(totals[ROWS] / totals[RANK_NORM]) if totals[RANK_NORM] > 0.0 else 0.0
    for j in range(rank.size):
        standard[j], peak[j] = room[STANDARD, j], room[PEAK, j]
        rank[j] *= by
    rank[0] = 1.0


@compiled(
    "void(f8[::1],f8[::1],f8[:,::1],f8[:,::1],i8[::1],f8[::1],i8[::1],"
    "f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])"
)
def see_rows(
    statistics: Vector,
    basis: Vector,
    rows: Matrix,
    ordered: Matrix,
    counts: Counts,
    totals: Vector,
    kinds: Counts,
    room: Matrix,
    X: Matrix,
    standard: Matrix,
    peak: Matrix,
    rank: Matrix,
) -> None:
    """Write the views of rows, counting each in before the next. O(d) a row."""
    for t in range(len(X)):
        see_row(statistics, basis, ordered, counts, totals, X[t], kinds, room, standard[t], peak[t], rank[t])
        sample_row(rows, ordered, counts, X[t])


@compiled("void(f8[::1],f8[::1],f8[:,::1],i8[::1],f8[::1],i8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])")
def peek_rows(
    statistics: Vector,
    basis: Vector,
    ordered: Matrix,
    counts: Counts,
    totals: Vector,
    kinds: Counts,
    room: Matrix,
    X: Matrix,
    standard: Matrix,
    peak: Matrix,
    rank: Matrix,
) -> None:
    """Write the views of rows, each as if it came next; touches nothing. O(d) a row."""
    own, own_totals = statistics.copy(), totals.copy()
    for t in range(len(X)):
        own[...], own_totals[...] = statistics, totals
        see_row(own, basis, ordered, counts, own_totals, X[t], kinds, room, standard[t], peak[t], rank[t])
