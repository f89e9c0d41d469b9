r"""A survey of the columns: what the views need to know of rows, counted without labels, and merged over shards.

A learner that scales its columns as the stream goes speaks of other numbers than one that saw other rows. Where shards
are to become one, each counts its rows first, in one pass of O(d) a row; the surveys merge, and from then on all read
the same fixed views. Means and spreads add as the moments of parts do (Chan, Golub and LeVeque); peaks are the largest;
the samples behind the ramps are drawn together by how many rows each stands for.

>>> import numpy as np
>>> X = np.random.default_rng(0).normal(size=(1000, 2)) * [1.0, 50.0] + 7.0
>>> whole, left, right = (ColumnSurvey(X[:3]) for _ in range(3))
>>> both = left.count(X[3:500]).merge(right.count(X[500:]))
>>> np.allclose(both.views().moments(), whole.count(X[3:]).views().moments())
True
"""

from typing import Self

import numpy as np

from aioli.errors import ParameterRefused, SnapshotRefused
from aioli.numerics.compiling import Matrix
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.column_statistics import ANCHOR, MEAN, MOVES, OTHER, ROOM, SECOND, SPREAD, THREE_VALUES, TOP
from aioli.states.mixture.ramps import SAMPLE, find_knots, unpack_ramps
from aioli.states.mixture.view_rows import BELIEVED, PEAK, PEAK_NORM, RAMP, ROWS, STANDARD_NORM, give_squares
from aioli.states.mixture.views import LONGEST, Views
from aioli.streams.rows import Rows

__all__ = ["ColumnSurvey"]

FEWEST = 3  # rows that settle the origin of every column


class ColumnSurvey:
    """Count the rows of a shard, so that all shards read their columns alike.

    Parameters
    ----------
    first
        The first rows of the whole stream, three or more: the same for every shard, and counted once.
    """

    def __init__(self, first: object) -> None:
        rows = Rows(first, intercept=False, widest=LONGEST)
        if len(rows) < FEWEST:
            raise ParameterRefused.unlike("first", f"{len(rows)} rows", f"{FEWEST} rows or more, the same everywhere")
        self._views = Views(rows.width)
        self._count(rows)
        self._since = Views.restore(self._views.snapshot())

    def count(self, X: object) -> Self:
        """Count further rows; return the survey itself. O(d) a row."""
        self._count(Rows(X, intercept=False, widest=LONGEST, width=self._views.width))
        return self

    @property
    def rows(self) -> int:
        """How many rows have been counted, the first ones too."""
        return int(self._views.totals[ROWS])

    def views(self, bending: bool = True) -> Views:
        """Return views that are fixed to what has been counted; without ramps and ripples where nothing bends."""
        fixed = Views(self._views.width, bending=bending, fixed=True)
        fixed.statistics[...] = self._views.statistics
        fixed.columns[ROOM] = 0.0
        fixed.square_layout[...] = self._views.square_layout
        if bending:
            fixed.ramps[...] = self._views.ramps
        return fixed

    def merge(self, other: Self) -> Self:
        """Take in another shard's survey, which began with the same first rows; return this one. O(d)."""
        own, theirs, since = self._views, other._views, self._since
        if not np.array_equal(since.statistics, other._since.statistics):
            raise ParameterRefused("the surveys began with other first rows; give all the same", parameter="other")
        n1, n2, n0 = (views.totals[ROWS] for views in (own, theirs, since))
        a, b, c = own.columns, theirs.columns, since.columns
        n = n2 - n0  # what the other has counted since the first rows
        if n <= 0.0:
            return self
        mean = (n2 * b[MEAN] - n0 * c[MEAN]) / n
        spread = np.maximum(b[SPREAD] - c[SPREAD] - n0 * n / n2 * (mean - c[MEAN]) ** 2, 0.0)
        sample = _drawn_together(_sample_of(own), n1 - n0, _sample_of(theirs), n)
        gap = mean - a[MEAN]
        a[SPREAD] += spread + n1 * n / (n1 + n) * gap**2
        a[MEAN] += n / (n1 + n) * gap
        third = (a[MOVES] > 0.0) & (b[MOVES] > 0.0) & (a[OTHER] != b[OTHER])
        a[OTHER] = np.where(a[MOVES] > 0.0, a[OTHER], b[OTHER])
        for place in (TOP, ROOM, MOVES):
            a[place] = np.maximum(a[place], b[place])
        a[MOVES][third] = THREE_VALUES
        give_squares(own.square_layout, a[MOVES])
        for place in (STANDARD_NORM, PEAK_NORM):
            own.totals[place] += theirs.totals[place] - since.totals[place]
        own.totals[ROWS] = n1 + n
        if len(sample):
            _keep_sample(own, sample)
        return self

    def snapshot(self) -> Snapshot:
        """Return what has been counted, and what all shards began with."""
        return Snapshot("ColumnSurvey", parts={"views": self._views.snapshot(), "since": self._since.snapshot()})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make an equal survey."""
        given = snapshot.of("ColumnSurvey")
        survey = cls.__new__(cls)
        survey._views, survey._since = (Views.restore(given.part(name)) for name in ("views", "since"))
        same = np.array_equal(survey._views.columns[[ANCHOR, SECOND]], survey._since.columns[[ANCHOR, SECOND]])
        if not same or not survey._views.totals[BELIEVED] == survey._since.totals[BELIEVED]:
            raise SnapshotRefused("in a ColumnSurvey, the rows counted do not go on from the first ones")
        return survey

    def _count(self, rows: Rows) -> None:
        for _, chunk in rows:
            self._views.of_rows(chunk, {PEAK, RAMP})


def _sample_of(views: Views) -> Matrix:
    """Return the rows that the ramps of some views have kept."""
    kept = min(max(int(views.totals[ROWS]) - FEWEST, 0), SAMPLE)
    return unpack_ramps(views.ramps, views.width)[3][:kept]


def _drawn_together(first: Matrix, n1: float, second: Matrix, n2: float) -> Matrix:
    """Return at most as many rows as a sample holds, from two samples, by the rows that each stands for."""
    whole = min(len(first) + len(second), SAMPLE)
    most = round(whole * n2 / (n1 + n2))
    taken = min(max(most, whole - len(first)), len(second))
    return np.concatenate([_spaced(first, whole - taken), _spaced(second, taken)])


def _spaced(sample: Matrix, count: int) -> Matrix:
    """Return so many rows of a sample, evenly spaced."""
    return sample[(np.arange(count) * len(sample)) // max(count, 1)]


def _keep_sample(views: Views, sample: Matrix) -> None:
    """Put a sample into the reservoir, and find the knots that it gives."""
    unpack_ramps(views.ramps, views.width)[3][: len(sample)] = sample
    find_knots(views.ramps, views.width, len(sample))
