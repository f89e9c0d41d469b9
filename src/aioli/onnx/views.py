"""The views of a row as operators: each column's statistics with the row counted in, as if it came next.

The formulas are those of `states.mixture.column_statistics` and `view_forms`, cell by cell; what depends on the rows so
far alone is a constant of the graph.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from aioli.onnx.graph import Graph, Name
from aioli.states.mixture import column_statistics as of_columns
from aioli.states.mixture.layouts import entries_of
from aioli.states.mixture.view_forms import SQUARE_LIMIT, UNEVEN
from aioli.states.mixture.view_rows import BELIEVED, PEAK_NORM, ROWS, STANDARD_NORM
from aioli.states.mixture.views import Views

__all__ = ["view_rows"]

Viewed = tuple[Name, list[int] | None]  # a view, and the places of its features in the order of the states


class Standardised(NamedTuple):
    """Name the tensors of the cells and of the statistics of their columns, the row counted in.

    Attributes
    ----------
    s
        The cells in standard deviations from the mean.
    u
        The cells as they are played.
    top, mean, variance
        Of the columns, which have the largest cell so far among them.
    other
        A value that a column has shown beside its origin.
    three
        Whether a column has shown three values.
    """

    s: Name
    u: Name
    top: Name
    mean: Name
    variance: Name
    other: Name
    three: Name


def view_rows(graph: Graph, rows: Name, views: Views, read: frozenset[str]) -> dict[str, Viewed]:
    """Add the views that are read, each a matrix with a 1 in front."""
    cells = _standardise(graph, rows, views)
    by = _scale(graph, views, cells.s, STANDARD_NORM)
    standard = graph.add("Mul", cells.s, by)
    made: dict[str, Viewed] = {"standard": (_behind_ones(graph, standard), None)}
    if "peak" in read:
        made["peak"] = _peak(graph, views, cells.u, cells.top), None
    if "square" in read:
        made["square"] = _square(graph, views, cells, by)
    if "wave" in read:
        made["wave"] = _waves(graph, standard, views.waves), None
    if "ripple" in read:
        made["ripple"] = _waves(graph, standard, views.ripples), None
    return made


def _standardise(graph: Graph, rows: Name, views: Views) -> Standardised:
    """Add the cells in standard deviations, and the statistics behind them."""
    add, constant, columns = graph.add, graph.constant, views.columns
    n, limit = float(views.totals[ROWS]) + 1.0, float(views.totals[BELIEVED])
    before = max(n - 1.0, 1.0)
    u = add("Sub", rows, constant(columns[of_columns.ANCHOR]))
    size = add("Abs", u)
    top, mean = constant(columns[of_columns.TOP]), constant(columns[of_columns.MEAN])
    spread, room = constant(columns[of_columns.SPREAD]), columns[of_columns.ROOM]
    moves = columns[of_columns.MOVES]
    other = add("Where", constant(moves == 0.0, np.bool_), u, constant(columns[of_columns.OTHER]))
    shown = u
    once = (moves == 1.0) & (limit < math.inf)
    if once.any():  # a second move that is a thousand times smaller than the first rescales the column
        smaller = add("Less", add("Mul", size, of_columns.APART), top)
        moved = add("And", add("Greater", size, constant(0.0)), smaller)
        rescaled = add("And", moved, constant(once, np.bool_))
        other = add("Where", rescaled, u, other)
        peak = constant(np.where(columns[of_columns.TOP] > 0.0, columns[of_columns.TOP], 1.0))
        ratio = add("Where", rescaled, add("Div", size, peak), constant(1.0))
        mean, spread = add("Mul", mean, ratio), add("Mul", spread, add("Mul", ratio, ratio))
        top = add("Where", rescaled, size, top)
    step = add("Sub", u, mean)
    if limit < math.inf:
        reach = limit * (1.0 + of_columns.UNSURE / before)
        bound = add("Mul", add("Sqrt", add("Div", spread, before)), constant((1.0 + room) * reach))
        far = add("And", add("Greater", size, top), add("Greater", spread, constant(0.0)))
        beyond = add("And", far, add("Greater", add("Abs", step), bound))
        absurd = add("Greater", add("Abs", step), add("Mul", bound, of_columns.ABSURD))
        at_limit = add("Where", absurd, constant(0.0), add("Mul", add("Sign", step), bound))
        step = add("Where", beyond, at_limit, step)
        u = add("Where", beyond, add("Add", mean, step), u)
        believed = add("Where", constant(room > of_columns.WIDER - 1.0, np.bool_), add("Abs", u), constant(0.0))
        size = add("Where", beyond, believed, size)
    new = add("And", add("Equal", u, shown), add("Not", add("Equal", u, constant(0.0))))
    third = add("And", add("And", new, add("Not", add("Equal", u, other))), constant(moves > 0.0, np.bool_))
    three = add("Or", third, constant(moves == of_columns.THREE_VALUES, np.bool_))
    top = add("Max", top, size)
    mean = add("Add", mean, add("Div", step, n))
    spread = add("Add", spread, add("Mul", step, add("Sub", u, mean)))
    variance = add("Div", spread, n)
    moved = add("Greater", variance, constant(0.0))
    deviation = add("Sqrt", add("Where", moved, variance, constant(1.0)))
    s = add("Where", moved, add("Div", add("Sub", u, mean), deviation), constant(0.0))
    if limit < math.inf:
        farthest = of_columns.FARTHEST * limit
        s = add("Clip", s, constant(-farthest), constant(farthest))
    return Standardised(s, u, top, mean, variance, other, three)


def _scale(graph: Graph, views: Views, cells: Name, total: int) -> Name:
    """Add the factor that brings the mean squared norm of a view to 1; 0 where no column has moved."""
    add, n = graph.add, float(views.totals[ROWS]) + 1.0
    norm = add("Add", graph.sum_over_columns(add("Mul", cells, cells)), float(views.totals[total]))
    some = add("Greater", norm, graph.constant(0.0))
    root = add("Sqrt", add("Div", n, add("Where", some, norm, graph.constant(1.0))))
    return add("Where", some, root, graph.constant(0.0))


def _peak(graph: Graph, views: Views, u: Name, top: Name) -> Name:
    add, constant = graph.add, graph.constant
    some = add("Greater", top, constant(0.0))
    ratio = add("Div", u, add("Where", some, top, constant(1.0)))
    cells = add("Where", some, add("Clip", ratio, constant(-1.0), constant(1.0)), constant(0.0))
    return _behind_ones(graph, add("Mul", cells, _scale(graph, views, cells, PEAK_NORM)))


def _square(graph: Graph, views: Views, cells: Standardised, by: Name) -> Viewed:
    """Add the columns and then the squares; the states have them in the order of the layout."""
    add, constant, entries = graph.add, graph.constant, entries_of(views.square_layout)
    columns, squares = np.flatnonzero(entries >= 0), np.flatnonzero(entries < 0)
    beside = np.zeros(views.width, np.bool_)  # in files without layouts, a column of two values has its square there
    beside[[j for j, after in pairwise(entries.tolist()) if after == -1 - j]] = True
    moved = add("Greater", cells.variance, constant(0.0))
    deviation = add("Sqrt", add("Where", moved, cells.variance, constant(1.0)))
    c = add("Div", add("Sub", cells.other, add("Mul", cells.mean, 2.0)), deviation)
    uneven = add("Clip", c, constant(-UNEVEN), constant(UNEVEN))
    stretched = add("Mul", cells.s, add("Sqrt", add("Add", add("Mul", add("Mul", uneven, uneven), 0.25), 1.0)))
    plain = add("Or", cells.three, constant(beside, np.bool_))
    near = add("Min", add("Abs", cells.s), SQUARE_LIMIT)
    bent = add("Mul", add("Sub", add("Mul", near, near), 1.0), 0.5)
    made = [
        (add("Where", plain, cells.s, stretched), entries[columns]),
        (add("Where", moved, bent, constant(0.0)), -1 - entries[squares]),
    ]
    parts = [add("Gather", each, constant(places, np.int64), axis=1) for each, places in made if len(places)]
    view = _behind_ones(graph, add("Mul", add("Concat", *parts, axis=1), add("Mul", by, math.sqrt(0.5))))
    return view, [0, *(1 + columns).tolist(), *(1 + squares).tolist()]


def _waves(graph: Graph, standard: Name, waves: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Name:
    """Add waves of random directions: a parabola for each half wave; the first line of `waves` holds their phases."""
    add = graph.add
    turns = add("MatMul", standard, graph.constant(waves[1:] / (2.0 * math.pi)))
    t = add("Add", turns, graph.constant(waves[0]))
    t = add("Sub", add("Mul", add("Sub", t, add("Floor", t)), 2.0), 1.0)
    bent = add("Mul", t, add("Sub", 1.0, add("Abs", t)))
    return _behind_ones(graph, add("Mul", bent, 4.0 * math.sqrt(2.0 / waves.shape[1])))


def _behind_ones(graph: Graph, cells: Name) -> Name:
    ones = graph.add("Add", graph.add("Mul", graph.sum_over_columns(cells), 0.0), 1.0)
    return graph.add("Concat", ones, cells, axis=1)
