"""The views of a row as operators: each column's statistics with the row counted in, as if it came next.

The formulas are those of `states.mixture.column_statistics` and `view_forms`, cell by cell; what depends on the rows so
far alone is a constant of the graph.
"""

import math

import numpy as np

from aioli.onnx.graph import Graph, Name
from aioli.states.mixture import column_statistics as of_columns
from aioli.states.mixture.view_forms import SQUARE_LIMIT, SQUARE_WIDTH
from aioli.states.mixture.views import BELIEVED, PEAK_NORM, ROWS, STANDARD_NORM, Views

__all__ = ["view_rows"]

Viewed = tuple[Name, list[int] | None]  # a view, and the places of its features in the order of the states


def view_rows(graph: Graph, rows: Name, views: Views, read: frozenset[str]) -> dict[str, Viewed]:
    """Add the views that are read, each a matrix with a 1 in front."""
    s, u, top, variance = _standardise(graph, rows, views)
    by = _scale(graph, views, s, STANDARD_NORM)
    standard = graph.add("Mul", s, by)
    made: dict[str, Viewed] = {"standard": (_behind_ones(graph, standard), None)}
    if "peak" in read:
        made["peak"] = _peak(graph, views, u, top), None
    if "square" in read:
        made["square"] = _square(graph, views.width, s, by, variance)
    if "wave" in read:
        made["wave"] = _waves(graph, standard, views.waves), None
    if "ripple" in read:
        made["ripple"] = _waves(graph, standard, views.ripples), None
    return made


def _standardise(graph: Graph, rows: Name, views: Views) -> tuple[Name, Name, Name, Name]:
    """Add the cells in standard deviations, the cells as they are played, the largest so far, and the variances."""
    add, constant, columns = graph.add, graph.constant, views.columns
    n, limit = float(views.totals[ROWS]) + 1.0, float(views.totals[BELIEVED])
    before = max(n - 1.0, 1.0)
    u = add("Sub", rows, constant(columns[of_columns.ANCHOR]))
    size = add("Abs", u)
    top, mean = constant(columns[of_columns.TOP]), constant(columns[of_columns.MEAN])
    spread, room = constant(columns[of_columns.SPREAD]), columns[of_columns.ROOM]
    once = (columns[of_columns.MOVES] == 1.0) & (limit < math.inf)
    if once.any():  # a second move that is a thousand times smaller than the first rescales the column
        smaller = add("Less", add("Mul", size, of_columns.APART), top)
        moves = add("And", add("Greater", size, constant(0.0)), smaller)
        rescaled = add("And", moves, constant(once, np.bool_))
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
    return s, u, top, variance


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


def _square(graph: Graph, width: int, s: Name, by: Name, variance: Name) -> Viewed:
    """Add the first columns and then their squares; the states have each column beside its square."""
    add, constant = graph.add, graph.constant
    count = min(width, SQUARE_WIDTH)
    ends = [constant([end], np.int64) for end in (0, count, 1)]
    first, moved = (add("Slice", each, *ends) for each in (s, variance))
    half = add("Mul", by, math.sqrt(0.5))
    near = add("Min", add("Abs", first), SQUARE_LIMIT)
    squares = add("Mul", add("Sub", add("Mul", near, near), 1.0), 0.5)
    shown = add("Where", add("Greater", moved, constant(0.0)), squares, constant(0.0))
    view = _behind_ones(graph, add("Mul", add("Concat", first, shown, axis=1), half))
    return view, [0, *range(1, 2 * count + 1, 2), *range(2, 2 * count + 1, 2)]


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
