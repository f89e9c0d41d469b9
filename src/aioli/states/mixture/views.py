r"""Views of a row: label-free, running, and blind to the unit and the origin of every column.

From the rows so far, this one included, come each column's mean, spread and peak (`states.mixture.column_statistics`,
which says what becomes of cells that nobody can believe), and with them four views, each with a 1 in front and scaled
to a mean squared norm of about 1:

- `standard`: $(u - \mathrm{mean})/\mathrm{sd}$, u being relative to the first row;
- `peak`: $u/\max|u|$, which leaves rare columns alone where standardising would magnify them;
- `square`: the first columns of the standard view, each beside its square, so that an effect may bend;
- `wave`: periodic waves of random directions of the standard view, a kernel of low rank.

Three of them may go unread: then they are not made, and what only they need is not counted, for there is no way back.

Compiled code reads two arrays: `statistics`, which every row moves, and `basis`, which rows read. To see a row as if it
came next, and count nothing, it goes through a copy of the statistics, which is short.
"""

import math
from collections.abc import Collection
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.column_statistics import (
    ANCHOR,
    LIMIT,
    MEAN,
    SPREAD,
    STATISTICS,
    TOP,
    relate_to_peak,
    settle_origin,
    standardise,
)
from aioli.states.mixture.view_forms import SQUARE_WIDTH, WAVES, make_waves, pair_with_squares, scale
from aioli.streams.sparse_rows import Indices

__all__ = ["LONGEST", "VIEWS", "Views", "fill_views", "is_row", "view_width", "widest_view"]

VIEWS = ("standard", "peak", "square", "wave")
STANDARD, PEAK, SQUARE, WAVE = range(len(VIEWS))
TOTALS = 4
ROWS, STANDARD_NORM, PEAK_NORM, BELIEVED = range(TOTALS)  # the beginning of `statistics`, before those of the columns
SAVED = STATISTICS - 1  # statistics of a column; the last is scratch
EARLIER_TOTALS, EARLIER_STATISTICS = 3, 4  # of files of views that believed every cell
LONGEST = 1e150  # a row whose square is still finite


class Views:
    """Hold the running statistics of the columns, and make from them the views of a row.

    Attributes
    ----------
    statistics
        What every row moves, for compiled code: totals, then the statistics of the columns.
    basis
        What rows read, for compiled code: the phases of the waves, then their directions.
    row
        Room for the views of a single row, each at the beginning of its line.
    """

    def __init__(self, width: int, limit: float = LIMIT) -> None:
        self.width = width
        self.statistics: Vector = np.zeros(TOTALS + STATISTICS * width)
        self.totals: Vector = self.statistics[:TOTALS]
        self.columns: Matrix = self.statistics[TOTALS:].reshape(STATISTICS, width)
        self.totals[BELIEVED] = limit
        self.basis: Vector = np.empty((1 + width) * WAVES)
        self.phases: Vector = self.basis[:WAVES]
        self.directions: Matrix = self.basis[WAVES:].reshape(width, WAVES)
        self.phases[:] = np.random.default_rng(0).uniform(0.0, 1.0, WAVES)
        for column in range(width):  # a new column disturbs no other
            self.directions[column] = np.random.default_rng([1, column]).normal(size=WAVES)
        self.row: Matrix = np.zeros((len(VIEWS), max(self.widths)))

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each view, its 1 counted."""
        return tuple(view_width(kind, self.width) for kind in range(len(VIEWS)))

    def of_rows(self, X: Matrix, read: Collection[int] = range(len(VIEWS))) -> list[Matrix]:
        """Return the views of rows that come next, and count them in; a view not `read` is empty. O(d) a row.

        The first is made always: the others are made from it.
        """
        views = [
            np.empty((len(X), width if kind in read or kind == STANDARD else 0))
            for kind, width in enumerate(self.widths)
        ]
        view_rows(self.statistics, self.basis, X, *views)
        return views

    def moments(self) -> tuple[Vector, Vector]:
        """Return the mean and the standard deviation of every column over the rows so far. O(d)."""
        n = max(self.totals[ROWS], 1.0)
        return self.columns[ANCHOR] + self.columns[MEAN], np.sqrt(self.columns[SPREAD] / n)

    def scaling(self, view: str) -> tuple[Vector, Vector]:
        """Return s and o of a view that is linear, "standard" or "peak": it sees a believed row as s(x - o). O(d)."""
        n, (mean, deviation) = self.totals[ROWS], self.moments()
        if view == "standard":
            norm, unit, origin = self.totals[STANDARD_NORM], deviation, mean
        else:
            norm, unit, origin = self.totals[PEAK_NORM], self.columns[TOP], self.columns[ANCHOR]
        by = math.sqrt(n / norm) if norm > 0.0 else 0.0
        return np.divide(by, unit, out=np.zeros_like(unit), where=unit > 0.0), origin

    def grown(self, columns: int) -> "Views":
        """Return the views had so many further columns been there, and 0, from the first row."""
        larger = Views(self.width + columns)
        larger.columns[:, : self.width] = self.columns
        larger.totals[...] = self.totals
        return larger

    def snapshot(self) -> Snapshot:
        """Return the statistics, and the waves: another version of NumPy might draw others."""
        waves = {"directions": self.directions.copy(), "phases": self.phases.copy()}
        moved = {"columns": self.columns[:SAVED].copy(), "totals": self.totals.copy()}
        return Snapshot("Views", arrays=moved | waves)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal views; those of a file from before cells were doubted go on to believe every cell."""
        given = snapshot.of("Views")
        totals = given.array("totals", (None,))
        earlier = totals.size == EARLIER_TOTALS
        columns = given.array("columns", (EARLIER_STATISTICS if earlier else SAVED, None))
        views = cls(columns.shape[1], math.inf)
        if not earlier and (totals.size != TOTALS or not totals[BELIEVED] > 0.0):
            raise SnapshotRefused(f"in a Views, the totals are {totals.tolist()}")
        views.totals[: totals.size] = totals
        views.columns[: len(columns)] = columns
        views.directions[...] = given.array("directions", (views.width, WAVES))
        views.phases[...] = given.array("phases", (WAVES,))
        return views


@compiled("i8(i8,i8)")
def view_width(kind: int, d: int) -> int:
    """Return the width of a view of rows of d columns, its 1 counted."""
    if kind == SQUARE:
        return 2 * min(d, SQUARE_WIDTH) + 1
    return WAVES + 1 if kind == WAVE else d + 1


@compiled("i8(i8)")
def widest_view(d: int) -> int:
    """Return the width of the widest view of rows of d columns."""
    widest = 0
    for kind in range(WAVE + 1):
        widest = max(widest, view_width(kind, d))
    return widest


@compiled("b1(f8[::1],f8[::1])", reassociate=True)
def is_row(statistics: Vector, x: Vector) -> bool:
    """Return whether x is finite and has the width of the rows before."""
    if TOTALS + STATISTICS * x.size != statistics.size:
        return False
    norm2 = 0.0
    for j in range(x.size):
        norm2 += x[j] * x[j]
    return math.sqrt(norm2) <= LONGEST


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True, inline=True)
def view_row(
    statistics: Vector, basis: Vector, x: Vector, standard: Vector, peak: Vector, square: Vector, wave: Vector
) -> None:
    """Count the row in, and make its views, but for those of size 0. O(d)."""
    totals, columns = statistics[:TOTALS], statistics[TOTALS:].reshape(STATISTICS, x.size)
    totals[ROWS] += 1.0
    n, limit = totals[ROWS], totals[BELIEVED]
    settle_origin(columns, n, limit, x)
    totals[STANDARD_NORM] += standardise(columns, n, limit, x, standard)
    by = math.sqrt(n / totals[STANDARD_NORM]) if totals[STANDARD_NORM] > 0.0 else 0.0
    if square.size > 0:
        pair_with_squares(columns, n, standard, by * math.sqrt(0.5), square)
    scale(standard, by)
    if wave.size > 0:
        make_waves(basis[WAVES:].reshape(x.size, WAVES), basis[:WAVES], standard, wave)
    if peak.size > 0:
        totals[PEAK_NORM] += relate_to_peak(columns, peak)
        scale(peak, math.sqrt(n / totals[PEAK_NORM]) if totals[PEAK_NORM] > 0.0 else 0.0)


@compiled("void(f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])", reassociate=True)
def view_rows(
    statistics: Vector, basis: Vector, X: Matrix, standard: Matrix, peak: Matrix, square: Matrix, wave: Matrix
) -> None:
    """Count the rows in one by one, and make their views, but for those of no columns. O(d) a row."""
    for t in range(len(X)):
        view_row(statistics, basis, X[t], standard[t], peak[t], square[t], wave[t])


@compiled("i8(i8[::1],i8,i8)")
def read_width(kinds: Indices, kind: int, d: int) -> int:
    """Return the width of a view that an expert reads, 0 of any other: that is not made."""
    for i in range(kinds.size):
        if kinds[i] == kind:
            return view_width(kind, d)
    return 0


@compiled("void(f8[::1],f8[::1],f8[::1],i8[::1],f8[:,::1])")
def fill_views(statistics: Vector, basis: Vector, x: Vector, kinds: Indices, views: Matrix) -> None:
    """Count the row in, and make the views that are read, each at the beginning of its line of `views`. O(d)."""
    d = x.size
    standard, peak = views[STANDARD, : d + 1], views[PEAK, : read_width(kinds, PEAK, d)]
    square, wave = views[SQUARE, : read_width(kinds, SQUARE, d)], views[WAVE, : read_width(kinds, WAVE, d)]
    view_row(statistics, basis, x, standard, peak, square, wave)
