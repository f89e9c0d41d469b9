r"""Views of a row: label-free, running, and blind to the unit and the origin of every column.

From the rows so far, this one included, come each column's mean, spread and peak (`states.mixture.column_statistics`,
which says what becomes of cells that nobody can believe), and with them the views, each with a 1 in front and scaled to
a mean squared norm of about 1:

- `standard`: $(u - \mathrm{mean})/\mathrm{sd}$, u being relative to the first row;
- `peak`: $u/\max|u|$, which leaves rare columns alone where standardising would magnify them;
- `square`: the columns of the standard view, the first 128 and those that have a square, and the squares, so that an
  effect may bend;
- `wave`: periodic waves of random directions of the standard view, a kernel of low rank;
- `ramp`: the columns, and columns cut at running quantiles (`states.mixture.ramps`), so that an effect may take any
  shape;
- `ripple`: many waves, and shorter ones: a kernel that is narrower and of a higher rank.

Squares and ramps are given to columns that have shown three values, as rows come (`states.mixture.layouts`): the square
view and the ramp view become wider, and a feature was 0 in all rows before it came.

All but the first may go unread: then they are not made, and what only they need is not counted, for there is no way
back.

Compiled code (`states.mixture.view_rows`) reads two arrays: `statistics`, which every row moves, and `basis`, which
rows read, and in which those that are learned leave the layouts and what the ramps remember of them. To see a row as if
it came next, and count nothing, it goes through a copy of the statistics, which is short.
"""

import math
import sys
from collections.abc import Collection, Sequence
from typing import Self

import numpy as np

from aioli.errors import SnapshotRefused
from aioli.numerics.compiling import Matrix, Vector
from aioli.snapshots.tree import Snapshot
from aioli.states.mixture.column_statistics import ANCHOR, LIMIT, MEAN, SAVED, SPREAD, STATISTICS, TOP
from aioli.states.mixture.layouts import (
    BENT,
    WIDTH,
    entries_of,
    is_full,
    lay_out_again,
    layout_numbers,
    most_bent,
    rows_to_bends,
)
from aioli.states.mixture.ramps import RAMPS, SAMPLE, grow_ramps, ramp_numbers, sampled_columns, unpack_ramps
from aioli.states.mixture.view_forms import RIPPLE_FREQUENCY, RIPPLES, SQUARE_COLUMNS, WAVES
from aioli.states.mixture.view_rows import (
    BELIEVED,
    KINDS,
    LONGEST,
    PEAK_NORM,
    ROWS,
    STANDARD,
    STANDARD_NORM,
    TOTALS,
    VIEWS,
    ramps_start,
    view_rows,
    widest_view,
)
from aioli.streams.sparse_rows import Indices

__all__ = ["LONGEST", "VIEWS", "Views"]

EARLIER_TOTALS, EARLIER_STATISTICS = 3, 4  # of files of views that believed every cell


class Views:
    """Hold the running statistics of the columns, and make from them the views of a row.

    Attributes
    ----------
    statistics
        What every row moves, for compiled code: totals, then the statistics of the columns.
    fixed
        Whether no row moves them any more: each is seen as if it came next after those counted (`survey`).
    basis
        What rows read, for compiled code: the layout of the squares, phases and directions of the waves, and where
        there are ramps and ripples, those of the ripples, and what the ramps remember, their layout among it.
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
        own, kept = layout_numbers(width), ramps_start(width)
        self.basis: Vector = np.zeros(kept + ramp_numbers(width) if bending else own + (1 + width) * WAVES)
        self.square_layout: Vector = self.basis[:own]
        self.waves: Matrix = self.basis[own:][: (1 + width) * WAVES].reshape(1 + width, WAVES)
        self.ripples: Matrix = self.basis[own + self.waves.size : kept].reshape(-1, RIPPLES)
        self.ramps: Vector = self.basis[kept:]
        self.ramp_layout: Vector = self.ramps[1 : 1 + own]
        _draw(self.waves, 0)
        _draw(self.ripples, 2)
        self.ripples[1:] *= RIPPLE_FREQUENCY
        lay_out_again(self.square_layout, np.arange(width)[:SQUARE_COLUMNS], 1)
        if bending:
            lay_out_again(self.ramp_layout, np.arange(width), RAMPS)
        self.row: Matrix = np.zeros((KINDS, widest_view(width)))

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each view now, its 1 counted; 0 of those that there are not."""
        plain, square = self.width + 1, int(self.square_layout[WIDTH])
        bending = (int(self.ramp_layout[WIDTH]), RIPPLES + 1) if self.bending else (0, 0)
        return plain, plain, square, WAVES + 1, *bending

    @property
    def rows_to_bends(self) -> int:
        """How many rows may come until columns are given bends, and views become wider.

        Where no column can be given any more, that is as many as may ever come.
        """
        layouts = [self.square_layout, self.ramp_layout] if self.bending else [self.square_layout]
        if self.fixed or all(is_full(layout, self.width) for layout in layouts):
            return sys.maxsize
        return rows_to_bends(int(self.totals[ROWS]))

    def of_rows(self, X: Matrix, read: Collection[int] = range(KINDS)) -> list[Matrix]:
        """Return the views of rows that come next, and count them in; a view not `read` is empty. O(d) a row.

        The first is made always: the others are made from it. A feature that comes with one of the rows is 0 in those
        before.
        """
        if self.fixed:
            return self.of_rows_apart(X, read)
        parts: list[list[Matrix]] = []
        first = 0
        while first < len(X) or not parts:
            part = X[first : first + self.rows_to_bends]
            parts.append(self._room(len(part), read))
            view_rows(self.statistics, self.basis, part, False, *parts[-1])
            first += len(part)
        return parts[0] if len(parts) == 1 else [_under_each_other(each) for each in zip(*parts, strict=True)]

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
        """Return the views had so many further columns been there, and 0, from the first row; theirs come last."""
        larger = Views(self.width + columns, bending=self.bending, fixed=self.fixed)
        larger.columns[:, : self.width] = self.columns
        larger.totals[...] = self.totals
        new = np.arange(self.width, larger.width)
        squares = np.append(entries_of(self.square_layout), new[new < SQUARE_COLUMNS])
        lay_out_again(larger.square_layout, squares, 1)
        if self.bending:
            grow_ramps(self.ramps, self.width, larger.ramps, larger.width)
            lay_out_again(larger.ramp_layout, np.append(entries_of(self.ramp_layout), new), RAMPS)
        return larger

    def snapshot(self) -> Snapshot:
        """Return the statistics, the layouts, and the waves: another version of NumPy might draw others."""
        waves = {"directions": self.waves[1:].copy(), "phases": self.waves[0].copy()}
        moved = {"columns": self.columns[:SAVED].copy(), "totals": self.totals.copy()}
        laid_out = {"square_layout": entries_of(self.square_layout)}
        bent = {}
        if self.bending:
            laid_out["ramp_layout"] = entries_of(self.ramp_layout)
            scale, _, shapes, sample = unpack_ramps(self.ramps, self.width)
            bent = {"ripples": self.ripples.copy(), "ramps": np.concatenate([scale, shapes.ravel(), sample.ravel()])}
        return Snapshot("Views", {"fixed": True} if self.fixed else {}, arrays={**moved, **waves, **laid_out, **bent})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal views; those of a file from before cells were doubted go on to believe every cell.

        In a file without layouts, the first columns have their bends beside them.
        """
        given = snapshot.of("Views")
        totals = given.array("totals", (None,))
        earlier = totals.size == EARLIER_TOTALS
        laid_out = "square_layout" in given.arrays
        saved = SAVED if laid_out else SAVED - 1  # without the other value that a column has shown
        columns = given.array("columns", (EARLIER_STATISTICS if earlier else saved, None))
        fixed = "fixed" in given.values and given.flag("fixed")
        views = cls(columns.shape[1], math.inf, bending="ramps" in given.arrays, fixed=fixed)
        if not earlier and (totals.size != TOTALS or not totals[BELIEVED] > 0.0):
            raise SnapshotRefused(f"in a Views, the totals are {totals.tolist()}")
        views.totals[: totals.size] = totals
        views.columns[: len(columns)] = columns
        views.waves[1:] = given.array("directions", (views.width, WAVES))
        views.waves[0] = given.array("phases", (WAVES,))
        first = np.arange(most_bent(views.width))
        beside = np.column_stack([first, -1 - first]).ravel()
        squares = _checked_layout(given, "square_layout", views.width, views.width) if laid_out else beside
        lay_out_again(views.square_layout, squares, 1)
        if views.bending:
            views.ripples[...] = given.array("ripples", views.ripples.shape)
            ramped = np.append(beside, np.arange(first.size, views.width))
            if laid_out:
                ramped = _checked_layout(given, "ramp_layout", views.width, sampled_columns(views.width))
            lay_out_again(views.ramp_layout, ramped, RAMPS)
            _restore_ramps(views, given, sampled=None if laid_out else first.size)
        return views


def _restore_ramps(views: Views, given: Snapshot, sampled: int | None) -> None:
    """Write the scale, the shapes and the sample of a file; in one without layouts, so many columns were sampled."""
    scale, _, shapes, sample = unpack_ramps(views.ramps, views.width)
    columns = sample.shape[1] if sampled is None else sampled
    ramps = given.array("ramps", (1 + shapes.size + SAMPLE * columns,))
    scale[...], shapes[...] = ramps[:1], ramps[1 : 1 + shapes.size].reshape(shapes.shape)
    sample[:, :columns] = ramps[1 + shapes.size :].reshape(SAMPLE, columns)


def _checked_layout(given: Snapshot, name: str, width: int, bendable: int) -> Indices:
    """Return the entries of a layout in a file: columns that there are, and bends of the first so many, each once."""
    entries = given.integers(name, (None,))
    known = (entries >= -bendable) & (entries < width)
    if not known.all() or len(np.unique(entries)) < len(entries) or np.count_nonzero(entries < 0) > BENT:
        raise SnapshotRefused(f"in a Views, {name!r} is no layout of {width} columns")
    return entries


def _under_each_other(parts: Sequence[Matrix]) -> Matrix:
    """Return the rows of matrices, of which none is wider than the next, and 0 where one has no column yet."""
    whole = np.zeros((sum(map(len, parts)), parts[-1].shape[1]))
    first = 0
    for part in parts:
        whole[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return whole


def _draw(waves: Matrix, seed: int) -> None:
    """Draw the phases of waves, and below them a direction of every column: a new column disturbs no other."""
    for column, directions in enumerate(waves, start=-1):
        if column < 0:
            directions[:] = np.random.default_rng(seed).uniform(0.0, 1.0, directions.size)
        else:
            directions[:] = np.random.default_rng([seed + 1, column]).normal(size=directions.size)
