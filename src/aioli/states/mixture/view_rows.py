"""Rows through the views, compiled: `states.mixture.views` says what the views are, and holds what they read.

The two arrays are those of `Views`: the statistics are totals, then the statistics of the columns; the basis is the
layout of the square view, the waves, and where there are ramps and ripples, those of the ripples, and what the ramps
keep.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.states.mixture.column_statistics import (
    MOVES,
    PLAYED,
    STATISTICS,
    THREE_VALUES,
    count_values,
    relate_to_peak,
    settle_origin,
    standardise,
)
from aioli.states.mixture.layouts import WIDTH, give_bends, gives_bends, layout_numbers, most_bent
from aioli.states.mixture.ramps import RAMPS, climb, remember_row
from aioli.states.mixture.view_forms import RIPPLES, WAVES, add_squares, make_waves, scale
from aioli.streams.sparse_rows import Indices

__all__ = [
    "BELIEVED",
    "KINDS",
    "LONGEST",
    "PEAK",
    "PEAK_NORM",
    "RAMP",
    "ROWS",
    "SQUARE",
    "STANDARD",
    "STANDARD_NORM",
    "TOTALS",
    "VIEWS",
    "fill_views",
    "give_squares",
    "is_row",
    "ramps_start",
    "remember_filled",
    "view_rows",
    "view_width",
    "widest_view",
]

VIEWS = ("standard", "peak", "square", "wave", "ramp", "ripple")
STANDARD, PEAK, SQUARE, WAVE, RAMP, RIPPLE = range(KINDS := len(VIEWS))
TOTALS = 4
ROWS, STANDARD_NORM, PEAK_NORM, BELIEVED = range(TOTALS)  # the beginning of `statistics`, before those of the columns
LONGEST = 1e150  # a row whose square is still finite


@compiled("i8(i8)")
def ramps_start(d: int) -> int:
    """Return where in the basis of d columns that which the ramps keep begins, or would."""
    return layout_numbers(d) + (1 + d) * (WAVES + RIPPLES)


@compiled("i8(i8,i8,f8[::1])")
def view_width(kind: int, d: int, basis: Vector) -> int:
    """Return the width of a view of rows of d columns, its 1 counted: as wide as its layout is now."""
    if kind == SQUARE:
        return int(basis[WIDTH])
    if kind == WAVE:
        return WAVES + 1
    if kind == RIPPLE:
        return RIPPLES + 1
    return int(basis[ramps_start(d) + 1 + WIDTH]) if kind == RAMP else d + 1


@compiled("i8(i8)")
def widest_view(d: int) -> int:
    """Return the width that no view of rows of d columns will ever exceed."""
    return 1 + max(d + RAMPS * most_bent(d), WAVES, RIPPLES)


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
    count_values(columns, x)
    by = math.sqrt(n / totals[STANDARD_NORM]) if totals[STANDARD_NORM] > 0.0 else 0.0
    if square.size > 0:
        add_squares(basis[: layout_numbers(d)], columns, n, standard, by * math.sqrt(0.5), square)
    scale(standard, by)
    if wave.size > 0:
        waving = basis[layout_numbers(d) :]
        make_waves(waving[WAVES : (1 + d) * WAVES].reshape(d, WAVES), waving[:WAVES], standard, wave)
    if ripple.size > 0:
        rippling = basis[layout_numbers(d) + (1 + d) * WAVES :]
        make_waves(rippling[RIPPLES : (1 + d) * RIPPLES].reshape(d, RIPPLES), rippling[:RIPPLES], standard, ripple)
    if ramp.size > 0:
        climb(basis[ramps_start(d) :], columns[PLAYED], standard, ramp)
    if peak.size > 0:
        totals[PEAK_NORM] += relate_to_peak(columns, peak)
        scale(peak, math.sqrt(n / totals[PEAK_NORM]) if totals[PEAK_NORM] > 0.0 else 0.0)


@compiled("void(f8[::1],f8[::1],b1)", uncounted=True)
def remember_viewed(statistics: Vector, basis: Vector, ramps: bool) -> None:
    """Leave in the basis what the row just viewed adds to it, which was learned, not only predicted. O(d).

    That is squares for columns that show three values, and where `ramps` are read what they remember: features that
    come are seen from the next row on.
    """
    d = (statistics.size - TOTALS) // STATISTICS
    columns = statistics[TOTALS:].reshape(STATISTICS, d)
    if gives_bends(int(statistics[ROWS])):
        give_squares(basis[: layout_numbers(d)], columns[MOVES])
    if ramps:
        remember_row(basis[ramps_start(d) :], statistics[ROWS], columns[PLAYED])


@compiled("void(f8[::1],f8[::1])")
def give_squares(layout: Vector, moves: Vector) -> None:
    """Give a square to columns that have shown three values, while there is room. O(d)."""
    shows = np.zeros(moves.size)
    for j in range(moves.size):
        shows[j] = 1.0 if moves[j] == THREE_VALUES else 0.0
    give_bends(layout, shows, 1)


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
        if not apart:
            remember_viewed(own, basis, ramp.shape[1] > 0)


@compiled("b1(i8[::1],i8)")
def is_read(kinds: Indices, kind: int) -> bool:
    """Return whether an expert reads a view."""
    read = 0
    for i in range(kinds.size):
        read += kinds[i] == kind
    return read > 0


@compiled("i8(i8[::1],i8,i8,f8[::1])")
def read_width(kinds: Indices, kind: int, d: int, basis: Vector) -> int:
    """Return the width of a view that an expert reads, 0 of any other: that is not made."""
    return view_width(kind, d, basis) if is_read(kinds, kind) else 0


@compiled("void(f8[::1],f8[::1],f8[::1],i8[::1],f8[:,::1])", uncounted=True)
def fill_views(statistics: Vector, basis: Vector, x: Vector, kinds: Indices, views: Matrix) -> None:
    """Count the row in the statistics, and make the views that are read, each at the beginning of its line. O(d)."""
    d = x.size
    standard, peak = views[STANDARD, : d + 1], views[PEAK, : read_width(kinds, PEAK, d, basis)]
    square = views[SQUARE, : read_width(kinds, SQUARE, d, basis)]
    wave = views[WAVE, : read_width(kinds, WAVE, d, basis)]
    ramp = views[RAMP, : read_width(kinds, RAMP, d, basis)]
    ripple = views[RIPPLE, : read_width(kinds, RIPPLE, d, basis)]
    view_row(statistics, basis, x, standard, peak, square, wave, ramp, ripple)


@compiled("void(f8[::1],f8[::1],i8[::1])", uncounted=True)
def remember_filled(statistics: Vector, basis: Vector, kinds: Indices) -> None:
    """Leave in the basis what a row whose views were filled adds to it, once it has been learned. O(d)."""
    remember_viewed(statistics, basis, is_read(kinds, RAMP))
