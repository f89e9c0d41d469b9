"""A single row through all views, experts and the mixture: one compiled call from Python.

The experts' desks lie one after the other in one array, the hall: expert i has `hall[starts[i]:starts[i + 1]]`, and
sees the view `kinds[i]`.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid, softplus
from aioli.state.mixture import announce, answer, unpack_compiled
from aioli.state.single import LOGIT, SPOILED, play_one, predict_logit_one
from aioli.streams.views import SQUARE_WIDTH, VIEWS, WAVES, view_row

__all__ = ["DONE", "LATE", "LONGEST", "LOSS", "ROUNDS", "learn_row", "predict_row"]

DONE, NO_ROW = -1, -2  # what `learn_row` returns, if not the number of an expert that must be factored first
LONGEST = 1e150  # a row whose square is still finite
ROUNDS, WEIGHT, LOSS, LATE = range(4)  # what the tally of the whole counts
SQUARE, WAVE = VIEWS.index("square"), VIEWS.index("wave")


@compiled("i8(i8,i8)")
def view_width(kind: int, d: int) -> int:
    """The width of a view of d columns, as `Views.widths` has it."""
    if kind == SQUARE:
        return 2 * min(d, SQUARE_WIDTH) + 1
    return WAVES + 1 if kind == WAVE else d + 1


@compiled("b1(f8[:,::1],f8[::1])", reassociate=True)
def is_row(columns: Matrix, x: Vector) -> bool:
    """Whether x is finite and has the right width."""
    if x.size != columns.shape[1]:
        return False
    norm2 = 0.0
    for j in range(x.size):
        norm2 += x[j] * x[j]
    return math.sqrt(norm2) <= LONGEST


@compiled("void(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1],b1,f8[:,::1])")
def fill_views(
    columns: Matrix, totals: Vector, directions: Matrix, phases: Vector, x: Vector, keep: bool, views: Matrix
) -> None:
    """All views of one row, each at the beginning of its row of `views`; `keep` counts the row in. O(d)."""
    d = x.size
    standard, peak = views[0, : view_width(0, d)], views[1, : view_width(1, d)]
    square, wave = views[SQUARE, : view_width(SQUARE, d)], views[WAVE, : view_width(WAVE, d)]
    view_row(columns, totals, directions, phases, x, keep, standard, peak, square, wave)


@compiled("f8(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1])")
def predict_row(
    columns: Matrix,
    totals: Vector,
    directions: Matrix,
    phases: Vector,
    hall: Vector,
    starts: Vector,
    kinds: Vector,
    board: Vector,
    x: Vector,
) -> float:
    """The log-odds of the whole, as if the row came next, or NaN where it is no row; touches nothing. O(K d²)."""
    if not is_row(columns, x):
        return math.nan
    d = x.size
    views = np.empty((4, max(view_width(0, d), view_width(SQUARE, d), view_width(WAVE, d))))
    fill_views(columns, totals, directions, phases, x, False, views)
    z = np.empty(kinds.size)
    for i in range(kinds.size):  # the board begins with the prior weights: 0 for a retired expert
        z[i] = (
            0.0
            if board[i] == 0.0
            else predict_logit_one(hall[starts[i] : starts[i + 1]], views[kinds[i], : view_width(kinds[i], d)])
        )
    # a board of its own has its own scratch, so that threads may predict side by side
    return announce(unpack_compiled(board.copy(), kinds.size), z)


@compiled(
    "i8(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[:,::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8,i8)"
)
def learn_row(
    columns: Matrix,
    totals: Vector,
    directions: Matrix,
    phases: Vector,
    views: Matrix,
    hall: Vector,
    starts: Vector,
    kinds: Vector,
    board: Vector,
    z: Vector,
    tally: Vector,
    x: Vector,
    y: float,
    first: int,
) -> int:
    """Play the row from expert `first` on; z receives their log-odds, and last the probability announced. O(K d²)."""
    d = x.size
    if first == 0:
        if not is_row(columns, x):
            return NO_ROW
        fill_views(columns, totals, directions, phases, x, True, views)
    parts = unpack_compiled(board, kinds.size)
    prior = parts[0]
    for i in range(first, kinds.size):
        if prior[i] == 0.0:  # retired
            continue
        desk = hall[starts[i] : starts[i + 1]]
        p = play_one(desk, views[kinds[i], : view_width(kinds[i], d)], y)
        if p == SPOILED:
            return i
        z[i] = desk[LOGIT] if p >= 0.0 else 0.0  # a view too long for the expert: it has nothing to say
    said = announce(parts, z[: kinds.size])
    answer(parts, y, 1.0)
    z[kinds.size] = sigmoid(said)
    tally[ROUNDS] += 1.0
    tally[WEIGHT] += 1.0
    tally[LOSS] += softplus(-said if y > 0.5 else said)
    return DONE
