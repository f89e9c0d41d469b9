r"""Views of a row: label-free, running, and blind to the unit and the origin of every column.

A row is seen relative to the first row of the stream, $u = x - x_1$, so that adding a constant to a column changes
nothing, and a column of a one-hot code stays sparse. From the rows so far, this one included, come each column's mean,
spread and peak, and with them four views, each with a 1 in front and scaled to a mean squared norm of about 1:

- `standard`: $(u - \mathrm{mean})/\mathrm{sd}$;
- `peak`: $u/\max|u|$, which leaves rare columns alone where standardising would magnify them;
- `square`: the first columns of the standard view, each beside its square, so that an effect may bend;
- `wave`: periodic waves of random directions of the standard view, a kernel of low rank.

Three of them may go unread: then they are not made, and what only they need is not counted, for there is no way back.
"""

import math
from collections.abc import Collection
from typing import Self

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.snapshots.tree import Snapshot

__all__ = ["VIEWS", "Views"]

VIEWS = ("standard", "peak", "square", "wave")
ANCHOR, MEAN, SPREAD, TOP = range(4)  # rows of `columns`
ROWS, STANDARD_NORM, PEAK_NORM = range(3)  # entries of `totals`

WAVES = 32
SQUARE_WIDTH = 64  # squares are taken of the first columns only: beyond, they would cost more than they bring
SQUARE_LIMIT = 10.0  # a square is taken of at most ten standard deviations


class Views:
    """Hold the running statistics of the columns, and make from them the views of a row."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.columns: Matrix = np.zeros((4, width))
        self.totals: Vector = np.zeros(3)
        self.phases: Vector = np.random.default_rng(0).uniform(0.0, 1.0, WAVES)
        self.directions: Matrix = _directions(width)
        self.row: Matrix = np.zeros((4, max(self.widths)))  # the views of a single row

    @property
    def widths(self) -> tuple[int, int, int, int]:
        """The width of each view, its 1 counted."""
        return self.width + 1, self.width + 1, 2 * min(self.width, SQUARE_WIDTH) + 1, WAVES + 1

    def of_rows(self, X: Matrix, read: Collection[int] = range(len(VIEWS))) -> list[Matrix]:
        """Return the views of rows that come next, and count them in; a view not `read` is empty. O(d) a row.

        The first is made always: the others are made from it.
        """
        views = [
            np.empty((len(X), width if kind in read or kind == 0 else 0)) for kind, width in enumerate(self.widths)
        ]
        view_rows(self.columns, self.totals, self.directions, self.phases, X, *views)
        return views

    def moments(self) -> tuple[Vector, Vector]:
        """Return the mean and the standard deviation of every column over the rows so far. O(d)."""
        n = max(self.totals[ROWS], 1.0)
        return self.columns[ANCHOR] + self.columns[MEAN], np.sqrt(self.columns[SPREAD] / n)

    def scaling(self, view: str) -> tuple[Vector, Vector]:
        """Return s and o of a view that is linear, "standard" or "peak": it sees a row as s(x - o). O(d)."""
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
        return Snapshot("Views", arrays={"columns": self.columns.copy(), "totals": self.totals.copy(), **waves})

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Make equal views."""
        given = snapshot.of("Views")
        columns = given.array("columns", (4, None))
        directions = given.array("directions", (columns.shape[1], WAVES))
        totals, phases = given.array("totals", (3,)), given.array("phases", (WAVES,))
        views = cls(columns.shape[1])
        views.columns[...], views.totals[...] = columns, totals
        views.directions[...], views.phases[...] = directions, phases
        return views


def _directions(width: int) -> Matrix:
    """Draw a direction of every column for each wave, column by column: a new column disturbs no other."""
    return np.array([np.random.default_rng([1, column]).normal(size=WAVES) for column in range(width)])


@compiled("f8(f8[:,::1],f8,f8[::1],f8[::1])", reassociate=True, inline=True)
def standardise(columns: Matrix, n: float, x: Vector, standard: Vector) -> float:
    """Write the n-th row in standard deviations from the mean, behind a place for the 1; returns its ‖·‖². O(d)."""
    norm2 = 0.0
    for j in range(x.size):
        u = x[j] - columns[ANCHOR, j]
        step = u - columns[MEAN, j]
        mean = columns[MEAN, j] + step / n
        spread = columns[SPREAD, j] + step * (u - mean)
        variance = spread / n  # 0 for a column that has not moved, or by less than float64 can square
        s = (u - mean) / math.sqrt(variance) if variance > 0.0 else 0.0
        columns[MEAN, j] = mean
        columns[SPREAD, j] = spread
        standard[1 + j] = s
        norm2 += s * s
    return norm2


@compiled("f8(f8[:,::1],f8[::1],f8[::1])", reassociate=True, inline=True)
def relate_to_peak(columns: Matrix, x: Vector, peak: Vector) -> float:
    """Write the row in units of the largest so far, behind a place for the 1; returns its ‖·‖². O(d)."""
    norm2 = 0.0
    for j in range(x.size):
        u = x[j] - columns[ANCHOR, j]
        top = max(columns[TOP, j], abs(u))
        r = u / top if top > 0.0 else 0.0
        columns[TOP, j] = top
        peak[1 + j] = r
        norm2 += r * r
    return norm2


@compiled("void(f8[:,::1],f8,f8[::1],f8,f8[::1])", reassociate=True, inline=True)
def pair_with_squares(columns: Matrix, n: float, standard: Vector, by: float, square: Vector) -> None:
    """Write each column beside its square, so that a new column comes last. O(d)."""
    for j in range(square.size // 2):
        s = standard[1 + j]
        moved = columns[SPREAD, j] / n > 0.0
        square[1 + 2 * j] = by * s
        square[2 + 2 * j] = by * (0.5 * (min(abs(s), SQUARE_LIMIT) ** 2 - 1.0)) if moved else 0.0
    square[0] = 1.0


@compiled("void(f8[:,::1],f8[::1],f8[::1],f8[::1])", reassociate=True, inline=True)
def make_waves(directions: Matrix, phases: Vector, standard: Vector, wave: Vector) -> None:
    """Write a parabola for each half wave, within 6 % of a sine: vector instructions can do it. O(d)."""
    for k in range(WAVES):
        wave[1 + k] = phases[k]
    turn = 1.0 / (2.0 * math.pi)
    d = directions.shape[0]
    for j in range(0, d - 3, 4):  # four columns a pass: each pass waits for what the last one wrote
        a, b = turn * standard[1 + j], turn * standard[2 + j]
        c, e = turn * standard[3 + j], turn * standard[4 + j]
        if a != 0.0 or b != 0.0 or c != 0.0 or e != 0.0:
            for k in range(WAVES):
                wave[1 + k] += (a * directions[j, k] + b * directions[j + 1, k]) + (
                    c * directions[j + 2, k] + e * directions[j + 3, k]
                )
    for j in range(d - d % 4, d):
        a = turn * standard[1 + j]
        if a != 0.0:
            for k in range(WAVES):
                wave[1 + k] += a * directions[j, k]
    height = math.sqrt(2.0 / WAVES) * 4.0
    for k in range(WAVES):
        t = wave[1 + k]
        t = 2.0 * (t - np.floor(t)) - 1.0
        wave[1 + k] = height * t * (1.0 - abs(t))
    wave[0] = 1.0


@compiled("void(f8[::1],f8)", reassociate=True, inline=True)
def scale(view: Vector, by: float) -> None:
    """Multiply a view, and put the 1 in front. O(d)."""
    for i in range(1, view.size):
        view[i] *= by
    view[0] = 1.0


@compiled(
    "void(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True, inline=True
)
def view_row(
    columns: Matrix,
    totals: Vector,
    directions: Matrix,
    phases: Vector,
    x: Vector,
    standard: Vector,
    peak: Vector,
    square: Vector,
    wave: Vector,
) -> None:
    """Count the row in, and make its views, but for those of size 0. O(d)."""
    if totals[ROWS] == 0.0:
        for j in range(x.size):
            columns[ANCHOR, j] = x[j]
    totals[ROWS] += 1.0
    n = totals[ROWS]
    totals[STANDARD_NORM] += standardise(columns, n, x, standard)
    by = math.sqrt(n / totals[STANDARD_NORM]) if totals[STANDARD_NORM] > 0.0 else 0.0
    if square.size > 0:
        pair_with_squares(columns, n, standard, by * math.sqrt(0.5), square)
    scale(standard, by)
    if wave.size > 0:
        make_waves(directions, phases, standard, wave)
    if peak.size > 0:
        totals[PEAK_NORM] += relate_to_peak(columns, x, peak)
        scale(peak, math.sqrt(n / totals[PEAK_NORM]) if totals[PEAK_NORM] > 0.0 else 0.0)


@compiled(
    "void(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])", reassociate=True
)
def view_rows(
    columns: Matrix,
    totals: Vector,
    directions: Matrix,
    phases: Vector,
    X: Matrix,
    standard: Matrix,
    peak: Matrix,
    square: Matrix,
    wave: Matrix,
) -> None:
    """Count the rows in one by one, and make their views, but for those of no columns. O(d) a row."""
    for t in range(len(X)):
        view_row(columns, totals, directions, phases, X[t], standard[t], peak[t], square[t], wave[t])
