r"""Views of a row: label-free, running, and blind to the unit and the origin of every column.

A row is seen relative to the first row of the stream, $u = x - x_1$, so that adding a constant to a column changes
nothing, and a column of a one-hot code stays sparse. From the rows so far, this one included, come each column's mean,
spread and peak, and with them four views, each with a 1 in front and scaled to a mean squared norm of about 1:

- `standard`: $(u - \mathrm{mean})/\mathrm{sd}$;
- `peak`: $u/\max|u|$, which leaves rare columns alone where standardising would magnify them;
- `square`: the first columns of the standard view, each beside its square, so that an effect may bend;
- `wave`: periodic waves of random directions of the standard view, a kernel of low rank.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled

__all__ = ["VIEWS", "Views"]

VIEWS = ("standard", "peak", "square", "wave")
ANCHOR, MEAN, SPREAD, TOP = range(4)  # rows of `columns`
ROWS, STANDARD_NORM, PEAK_NORM = range(3)  # entries of `totals`

WAVES = 32
SQUARE_WIDTH = 64  # squares are taken of the first columns only: beyond, they would cost more than they bring
SQUARE_LIMIT = 10.0  # a square is taken of at most ten standard deviations


class Views:
    """The running statistics of the columns, and the views that they give of a row."""

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

    def of_rows(self, X: Matrix) -> list[Matrix]:
        """All views of rows that come next, and are now counted in. O(d) a row."""
        views = [np.zeros((len(X), width)) for width in self.widths]
        view_rows(self.columns, self.totals, self.directions, self.phases, X, *views)
        return views

    def grown(self, columns: int) -> "Views":
        """The views had these further columns been there, and 0, from the first row."""
        larger = Views(self.width + columns)
        larger.columns[:, : self.width] = self.columns
        larger.totals[...] = self.totals
        return larger


def _directions(width: int) -> Matrix:
    """A random direction of every column for each wave, drawn column by column: a new column disturbs no other."""
    return np.array([np.random.default_rng([1, column]).normal(size=WAVES) for column in range(width)])


@compiled("void(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1],b1,f8[::1],f8[::1],f8[::1],f8[::1])", reassociate=True)
def view_row(
    columns: Matrix,
    totals: Vector,
    directions: Matrix,
    phases: Vector,
    x: Vector,
    keep: bool,
    standard: Vector,
    peak: Vector,
    square: Vector,
    wave: Vector,
) -> None:
    """All views of one row, as if it came next; `keep` counts it in. O(d)."""
    d = x.size
    n = totals[ROWS] + 1.0
    standard_norm, peak_norm = 0.0, 0.0
    for j in range(d):
        anchor = x[j] if n == 1.0 else columns[ANCHOR, j]
        u = x[j] - anchor
        step = u - columns[MEAN, j]
        mean = columns[MEAN, j] + step / n
        spread = columns[SPREAD, j] + step * (u - mean)
        top = max(columns[TOP, j], abs(u))
        variance = spread / n  # 0 for a column that has not moved, or by less than float64 can square
        s = (u - mean) / math.sqrt(variance) if variance > 0.0 else 0.0
        r = u / top if top > 0.0 else 0.0
        standard[j + 1] = s
        peak[j + 1] = r
        if j < SQUARE_WIDTH:  # side by side, so that a new column comes last
            square[2 * j + 1] = s
            square[2 * j + 2] = 0.5 * (min(abs(s), SQUARE_LIMIT) ** 2 - 1.0) if variance > 0.0 else 0.0
        standard_norm += s * s
        peak_norm += r * r
        if keep:
            columns[ANCHOR, j] = anchor
            columns[MEAN, j] = mean
            columns[SPREAD, j] = spread
            columns[TOP, j] = top
    standard_norm += totals[STANDARD_NORM]
    peak_norm += totals[PEAK_NORM]
    if keep:
        totals[ROWS] = n
        totals[STANDARD_NORM] = standard_norm
        totals[PEAK_NORM] = peak_norm
    by = math.sqrt(n / standard_norm) if standard_norm > 0.0 else 0.0
    by_peak = math.sqrt(n / peak_norm) if peak_norm > 0.0 else 0.0
    half = by * math.sqrt(0.5)
    square[0] = 1.0
    for i in range(1, square.size):
        square[i] *= half
    standard[0] = 1.0
    peak[0] = 1.0
    for j in range(1, d + 1):
        standard[j] *= by
        peak[j] *= by_peak
    wave[0] = 1.0
    for k in range(WAVES):
        wave[k + 1] = phases[k]
    turn = 1.0 / (2.0 * math.pi)
    for j in range(d):
        s = turn * standard[j + 1]
        if s != 0.0:
            for k in range(WAVES):
                wave[k + 1] += s * directions[j, k]
    height = math.sqrt(2.0 / WAVES) * 4.0
    for k in range(WAVES):  # a parabola for each half wave, within 6 % of a sine: vector instructions can do it
        t = wave[k + 1]
        t = 2.0 * (t - np.floor(t)) - 1.0
        wave[k + 1] = height * t * (1.0 - abs(t))


@compiled("void(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])")
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
    """All views of rows that come next, counting them in one by one. O(d) a row."""
    for t in range(len(X)):
        view_row(columns, totals, directions, phases, X[t], True, standard[t], peak[t], square[t], wave[t])
