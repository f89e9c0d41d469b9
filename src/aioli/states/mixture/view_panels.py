r"""The two linear views of very wide rows, made in panels of columns on several threads, for experts on a device.

A column's statistics do not know of other columns, so panels of columns are standardised side by side. What a row's
columns have in common is one factor a view, $\sqrt{n/\sum\|\cdot\|^2}$: it is returned beside the rows, which are not
yet multiplied by it. The numbers are those of `Views.of_rows` but for the rounding of that sum.
"""

import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.states.mixture.column_statistics import STATISTICS, relate_to_peak, settle_origin, standardise
from aioli.states.mixture.view_rows import BELIEVED, PEAK, PEAK_NORM, ROWS, STANDARD, STANDARD_NORM, TOTALS

__all__ = ["LinearViews", "linear_views", "linear_views_apart"]

PANEL = 512  # columns whose statistics stay in a core's cache while row after row is read
THREADS = 16  # at most: a GPU plays five experts as fast as so many cores make their views
NORMS = {STANDARD: STANDARD_NORM, PEAK: PEAK_NORM}


Room = Callable[[tuple[int, int]], Matrix]


class LinearViews(NamedTuple):
    """Rows as the standard view and the peak view see them, by kind, and the factor of each row of a view.

    The first column of a view stands for the 1, and is not written.
    """

    rows: dict[int, Matrix]
    factors: dict[int, Vector]


def linear_views(statistics: Vector, X: Matrix, read: Collection[int], room: Room = np.empty) -> LinearViews:
    """Return the views of rows that come next, and count them in the statistics; of those `read` alone. O(d) a row.

    `room` gives the arrays for them, of a shape, such as memory that a device can read by itself.
    """
    views, norms = _room(X, read, room)
    _make(statistics, X, views, norms, apart=False)
    n = statistics[ROWS] + np.arange(1.0, len(X) + 1.0)
    factors = {}
    for kind, squares in norms.items():
        totals = np.cumsum(np.append(statistics[NORMS[kind]], squares))[1:]
        statistics[NORMS[kind]] = totals[-1]
        factors[kind] = _factors(n, totals)
    statistics[ROWS] = n[-1]
    return LinearViews({kind: views[kind] for kind in read}, factors)


def linear_views_apart(statistics: Vector, X: Matrix, read: Collection[int]) -> LinearViews:
    """Return the views of rows, each as if it came next, and count none. O(d) a row."""
    views, norms = _room(X, read, np.empty)
    _make(statistics, X, views, norms, apart=True)
    n = statistics[ROWS] + np.ones(len(X))
    factors = {kind: _factors(n, statistics[NORMS[kind]] + squares) for kind, squares in norms.items()}
    return LinearViews({kind: views[kind] for kind in read}, factors)


def _factors(n: Vector, totals: Vector) -> Vector:
    return np.sqrt(np.divide(n, totals, out=np.zeros(len(n)), where=totals > 0.0))


@cache
def _makers(_process: int) -> ThreadPoolExecutor:
    """Return the threads of this process that make views: those of its parent do not survive a fork."""
    return ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1), thread_name_prefix="aioli views")


def _room(X: Matrix, read: Collection[int], room: Room) -> tuple[dict[int, Matrix], dict[int, Vector]]:
    kinds = [STANDARD, PEAK] if PEAK in read else [STANDARD]  # the second is made from what the first has counted
    return {kind: room((len(X), X.shape[1] + 1)) for kind in kinds}, {kind: np.zeros(len(X)) for kind in kinds}


def _make(statistics: Vector, X: Matrix, views: dict[int, Matrix], norms: dict[int, Vector], apart: bool) -> None:
    """Write the views of rows, panel by panel, and add up the squares of their numbers."""
    columns = statistics[TOTALS:].reshape(STATISTICS, X.shape[1])
    firsts = range(0, X.shape[1], PANEL)
    panels = [np.ascontiguousarray(columns[:, first : first + PANEL]) for first in firsts]
    squares = np.zeros((len(panels), 2, len(X)))
    standard = views[STANDARD]
    peak = views.get(PEAK, np.empty((len(X), 0)))
    given = statistics[ROWS], statistics[BELIEVED], apart, X
    tasks = (
        partial(view_panel, panel, *given, first, standard, peak, *own)
        for panel, first, own in zip(panels, firsts, squares, strict=True)
    )
    list(_makers(os.getpid()).map(lambda task: task(), tasks))  # and raise what one of them raised
    for kind, total in zip(norms, squares.sum(axis=0), strict=False):
        norms[kind][...] = total
    if not apart:
        for panel, first in zip(panels, firsts, strict=True):
            columns[:, first : first + PANEL] = panel


@compiled("void(f8[:,::1],f8,f8,b1,f8[:,::1],i8,f8[:,::1],f8[:,::1],f8[::1],f8[::1])", reassociate=True)
def view_panel(
    columns: Matrix,
    rows: float,
    limit: float,
    apart: bool,
    X: Matrix,
    first: int,
    standard: Matrix,
    peak: Matrix,
    standard_squares: Vector,
    peak_squares: Vector,
) -> None:
    """Write the columns from `first` on of the views of rows, and the sum of their squares in each row. O(d) a row."""
    width = columns.shape[1]
    own = columns.copy() if apart else columns
    for t in range(len(X)):
        n = rows + 1.0 if apart else rows + t + 1.0
        if apart and t > 0:
            copy_numbers(columns.reshape(-1), own.reshape(-1))
        x = X[t, first : first + width]
        settle_origin(own, n, limit, x)
        standard_squares[t] = standardise(own, n, limit, x, standard[t, first : first + width + 1])
        if peak.shape[1] > 0:
            peak_squares[t] = relate_to_peak(own, peak[t, first : first + width + 1])
