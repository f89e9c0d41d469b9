r"""Views of a row: label-free, running, and blind to the unit and the origin of every column.

From the rows so far, this one included, come each column's mean, spread and peak (`states.mixture.column_statistics`,
which says what becomes of cells that nobody can believe), and with them the views, each with a 1 in front and scaled to
a mean squared norm of about 1:

- `standard`: $(u - \mathrm{mean})/\mathrm{sd}$, u being relative to the first row;
- `peak`: $u/\max|u|$, which leaves rare columns alone where standardising would magnify them;
- `square`: the first columns of the standard view, each beside its square, so that an effect may bend;
- `wave`: periodic waves of random directions of the standard view, a kernel of low rank;
- `ramp`: the first columns cut at running quantiles (`states.mixture.ramps`), so that an effect may take any shape;
- `ripple`: many waves, and shorter ones: a kernel that is narrower and of a higher rank.

All but the first may go unread: then they are not made, and what only they need is not counted, for there is no way
back.

Compiled code reads two arrays: `statistics`, which every row moves, and `basis`, which rows read, and in which those
that are learned leave what the ramps remember of them. To see a row as if it came next, and count nothing, it goes
through a copy of the statistics, which is short.
"""

import math
from collections.abc import Collection
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.column_statistics import (
    ANCHOR,
    LIMIT,
    MEAN,
    PLAYED,
    SPREAD,
    STATISTICS,
    TOP,
    relate_to_peak,
    settle_origin,
    standardise,
)
from aioli.states.mixture.ramps import RAMPS, climb, grow_ramps, ramp_columns, ramp_numbers, remember_row
from aioli.states.mixture.view_forms import (
    RIPPLE_FREQUENCY,
    RIPPLES,
    SQUARE_WIDTH,
    WAVES,
    make_waves,
    pair_with_squares,
    scale,
)
from aioli.streams.sparse_rows import Indices

__all__ = [
    "BELIEVED",
    "LONGEST",
    "PEAK",
    "PEAK_NORM",
    "RAMP",
    "ROWS",
    "STANDARD_NORM",
    "VIEWS",
    "Views",
    "count_in",
    "fill_views",
    "is_row",
    "view_width",
    "widest_view",
]

VIEWS = ("standard", "peak", "square", "wave", "ramp", "ripple")
STANDARD, PEAK, SQUARE, WAVE, RAMP, RIPPLE = range(KINDS := len(VIEWS))
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
    fixed
        Whether no row moves them any more: each is seen as if it came next after those counted (`survey`).
    basis
        What rows read, for compiled code: phases and directions of the waves, and where there are ramps and ripples,
        those of the ripples, and what the ramps remember.
    row
        Room for the views of a single row, each at the beginning of its line.
    """

    def __init__(self, width: int, limit: float = LIMIT, bending: bool = True, fixed: bool = False) -> None:
        self.width = width
        self.bending = bending
        self.fixed = fixed
        self.statistics: Vector = np.zeros(TOTALS + STATISTICS * width)
        self.totals: Vector = self.statistics[:TOTALS]
        self.columns: Matrix = self.statistics[TOTALS:].reshape(STATISTICS, width)
        self.totals[BELIEVED] = limit
        own = (1 + width) * WAVES
        rippling = (1 + width) * RIPPLES
        self.basis: Vector = np.zeros(own + (rippling + ramp_numbers(width) if bending else 0))
        self.waves: Matrix = self.basis[:own].reshape(1 + width, WAVES)
        self.ripples: Matrix = self.basis[own : own + rippling].reshape(-1, RIPPLES)
        self.ramps: Vector = self.basis[own + rippling :]
        _draw(self.waves, 0)
        _draw(self.ripples, 2)
        self.ripples[1:] *= RIPPLE_FREQUENCY
        self.row: Matrix = np.zeros((KINDS, max(self.widths)))

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each view, its 1 counted; 0 of those that there are not."""
        return tuple(view_width(kind, self.width) if self.bending or kind < RAMP else 0 for kind in range(KINDS))

    def of_rows(self, X: Matrix, read: Collection[int] = range(KINDS)) -> list[Matrix]:
        """Return the views of rows that come next, and count them in; a view not `read` is empty. O(d) a row.

        The first is made always: the others are made from it.
        """
        if self.fixed:
            return self.of_rows_apart(X, read)
        views = self._room(len(X), read)
        view_rows(self.statistics, self.basis, X, False, *views)
        return views

    def of_rows_apart(self, X: Matrix, read: Collection[int] = range(KINDS)) -> list[Matrix]:
        """Return the views of rows, each as if it came next, and count none; a view not `read` is empty. O(d) a row."""
        views = self._room(len(X), read)
        view_rows(self.statistics, self.basis, X, True, *views)
        return views

    def _room(self, rows: int, read: Collection[int]) -> list[Matrix]:
        wanted = {*read, STANDARD}
        return [np.empty((rows, width if kind in wanted else 0)) for kind, width in enumerate(self.widths)]

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
        larger = Views(self.width + columns, bending=self.bending, fixed=self.fixed)
        larger.columns[:, : self.width] = self.columns
        larger.totals[...] = self.totals
        if self.bending:
            grow_ramps(self.ramps, larger.ramps)
        return larger

    def snapshot(self) -> Snapshot:
        """Return the statistics, and the waves: another version of NumPy might draw others."""
        waves = {"directions": self.waves[1:].copy(), "phases": self.waves[0].copy()}
        moved = {"columns": self.columns[:SAVED].copy(), "totals": self.totals.copy()}
        bent = {"ripples": self.ripples.copy(), "ramps": self.ramps.copy()} if self.bending else {}
        return Snapshot("Views", {"fixed": True} if self.fixed else {}, arrays=moved | waves | bent)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal views; those of a file from before cells were doubted go on to believe every cell."""
        given = snapshot.of("Views")
        totals = given.array("totals", (None,))
        earlier = totals.size == EARLIER_TOTALS
        columns = given.array("columns", (EARLIER_STATISTICS if earlier else SAVED, None))
        fixed = "fixed" in given.values and given.flag("fixed")
        views = cls(columns.shape[1], math.inf, bending="ramps" in given.arrays, fixed=fixed)
        if not earlier and (totals.size != TOTALS or not totals[BELIEVED] > 0.0):
            raise SnapshotRefused(f"in a Views, the totals are {totals.tolist()}")
        views.totals[: totals.size] = totals
        views.columns[: len(columns)] = columns
        views.waves[1:] = given.array("directions", (views.width, WAVES))
        views.waves[0] = given.array("phases", (WAVES,))
        if views.bending:
            views.ripples[...] = given.array("ripples", views.ripples.shape)
            views.ramps[...] = given.array("ramps", views.ramps.shape)
        return views


def _draw(waves: Matrix, seed: int) -> None:
    """Draw the phases of waves, and below them a direction of every column: a new column disturbs no other."""
    for column, directions in enumerate(waves, start=-1):
        if column < 0:
            directions[:] = np.random.default_rng(seed).uniform(0.0, 1.0, directions.size)
        else:
            directions[:] = np.random.default_rng([seed + 1, column]).normal(size=directions.size)


@compiled("i8(i8,i8)")
def view_width(kind: int, d: int) -> int:
    """Return the width of a view of rows of d columns, its 1 counted."""
    if kind == SQUARE:
        return 2 * min(d, SQUARE_WIDTH) + 1
    if kind == WAVE:
        return WAVES + 1
    if kind == RIPPLE:
        return RIPPLES + 1
    return d + 1 + (RAMPS * ramp_columns(d) if kind == RAMP else 0)


@compiled("i8(i8)")
def widest_view(d: int) -> int:
    """Return the width of the widest view of rows of d columns."""
    widest = 0
    for kind in range(KINDS):
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


@compiled("void(f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True)
def view_row(
    statistics: Vector,
    basis: Vector,
    x: Vector,
    standard: Vector,
    peak: Vector,
    square: Vector,
    wave: Vector,
    ramp: Vector,
    ripple: Vector,
) -> None:
    """Count the row in the statistics, and make its views, but for those of size 0. O(d)."""
    d = x.size
    totals, columns = statistics[:TOTALS], statistics[TOTALS:].reshape(STATISTICS, d)
    totals[ROWS] += 1.0
    n, limit = totals[ROWS], totals[BELIEVED]
    settle_origin(columns, n, limit, x)
    totals[STANDARD_NORM] += standardise(columns, n, limit, x, standard)
    by = math.sqrt(n / totals[STANDARD_NORM]) if totals[STANDARD_NORM] > 0.0 else 0.0
    if square.size > 0:
        pair_with_squares(columns, n, standard, by * math.sqrt(0.5), square)
    scale(standard, by)
    if wave.size > 0:
        make_waves(basis[WAVES : (1 + d) * WAVES].reshape(d, WAVES), basis[:WAVES], standard, wave)
    if ripple.size > 0:
        rippling = basis[(1 + d) * WAVES :]
        make_waves(rippling[RIPPLES : (1 + d) * RIPPLES].reshape(d, RIPPLES), rippling[:RIPPLES], standard, ripple)
    if ramp.size > 0:
        climb(basis[(1 + d) * (WAVES + RIPPLES) :], columns[PLAYED], standard, ramp)
    if peak.size > 0:
        totals[PEAK_NORM] += relate_to_peak(columns, peak)
        scale(peak, math.sqrt(n / totals[PEAK_NORM]) if totals[PEAK_NORM] > 0.0 else 0.0)


@compiled("void(f8[::1],f8[::1])", uncounted=True)
def remember_viewed(statistics: Vector, basis: Vector) -> None:
    """Leave in the basis what the ramps remember of the row just viewed, which was learned, not only predicted."""
    d = (statistics.size - TOTALS) // STATISTICS
    played = statistics[TOTALS:].reshape(STATISTICS, d)[PLAYED]
    remember_row(basis[(1 + d) * (WAVES + RIPPLES) :], statistics[ROWS], played)


@compiled(
    "void(f8[::1],f8[::1],f8[:,::1],b1,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])", reassociate=True
)
def view_rows(
    statistics: Vector,
    basis: Vector,
    X: Matrix,
    apart: bool,
    standard: Matrix,
    peak: Matrix,
    square: Matrix,
    wave: Matrix,
    ramp: Matrix,
    ripple: Matrix,
) -> None:
    """Make the views of rows, but for those of no columns: each counted in before the next. O(d) a row.

    Apart from each other, every row is viewed as if it came next, and nothing is touched.
    """
    own = statistics.copy() if apart else statistics
    for t in range(len(X)):
        if apart:
            copy_numbers(statistics, own)
        view_row(own, basis, X[t], standard[t], peak[t], square[t], wave[t], ramp[t], ripple[t])
        if not apart and ramp.shape[1] > 0:
            remember_viewed(own, basis)


@compiled("i8(i8[::1],i8,i8)")
def read_width(kinds: Indices, kind: int, d: int) -> int:
    """Return the width of a view that an expert reads, 0 of any other: that is not made."""
    for i in range(kinds.size):
        if kinds[i] == kind:
            return view_width(kind, d)
    return 0


@compiled("void(f8[::1],f8[::1],f8[::1],i8[::1],f8[:,::1])", uncounted=True)
def fill_views(statistics: Vector, basis: Vector, x: Vector, kinds: Indices, views: Matrix) -> None:
    """Count the row in the statistics, and make the views that are read, each at the beginning of its line. O(d)."""
    d = x.size
    standard, peak = views[STANDARD, : d + 1], views[PEAK, : read_width(kinds, PEAK, d)]
    square, wave = views[SQUARE, : read_width(kinds, SQUARE, d)], views[WAVE, : read_width(kinds, WAVE, d)]
    ramp, ripple = views[RAMP, : read_width(kinds, RAMP, d)], views[RIPPLE, : read_width(kinds, RIPPLE, d)]
    view_row(statistics, basis, x, standard, peak, square, wave, ramp, ripple)


@compiled("void(f8[::1],f8[::1],f8[::1],i8[::1],f8[:,::1])", uncounted=True)
def count_in(statistics: Vector, basis: Vector, x: Vector, kinds: Indices, views: Matrix) -> None:
    """Fill the views of a row that is learned: what is remembered of it goes into the basis too. O(d)."""
    fill_views(statistics, basis, x, kinds, views)
    if read_width(kinds, RAMP, x.size) > 0:
        remember_viewed(statistics, basis)
