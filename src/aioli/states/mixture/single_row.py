"""A single row through all views, experts and the mixture: one compiled call from Python.

The experts' buffers lie one after the other in one array: expert i has `expert_buffers[starts[i]:starts[i + 1]]`, and
sees the view `kinds[i]`. Views that nobody sees are not made.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid, softplus
from aioli.states.dense.single_row import LOGIT, SPOILED, play_one, predict_logit_one
from aioli.states.mixture.mixture import announce, combine_rows, unpack_compiled
from aioli.states.mixture.views import SQUARE_WIDTH, VIEWS, WAVES, view_row
from aioli.streams.sparse_rows import Indices

__all__ = ["DONE", "LATE", "LONGEST", "LOSS", "ROUNDS", "SLOTS", "TOTALS", "learn_row", "predict_row"]

DONE, NO_ROW = -1, -2  # what `learn_row` returns, if not the number of an expert that must be factored first
LONGEST = 1e150  # a row whose square is still finite
TOTALS = 4
ROUNDS, WEIGHT, LOSS, LATE = range(TOTALS)  # what is counted of the whole: late labels last
SLOTS = 4
LABEL, ROW_WEIGHT, SAID, PROBABILITY = range(SLOTS)  # behind the log-odds of the experts
SQUARE, WAVE = VIEWS.index("square"), VIEWS.index("wave")


@compiled("i8(i8,i8)")
def view_width(kind: int, d: int) -> int:
    """Return the width of a view of d columns, as `Views.widths` has it."""
    if kind == SQUARE:
        return 2 * min(d, SQUARE_WIDTH) + 1
    return WAVES + 1 if kind == WAVE else d + 1


@compiled("b1(f8[:,::1],f8[::1])", reassociate=True)
def is_row(columns: Matrix, x: Vector) -> bool:
    """Return whether x is finite and has the right width."""
    if x.size != columns.shape[1]:
        return False
    norm2 = 0.0
    for j in range(x.size):
        norm2 += x[j] * x[j]
    return math.sqrt(norm2) <= LONGEST


@compiled("i8(i8[::1],i8,i8)")
def read_width(kinds: Indices, kind: int, d: int) -> int:
    """Return the width of a view that an expert reads, 0 of any other: that is not made."""
    for i in range(kinds.size):
        if kinds[i] == kind:
            return view_width(kind, d)
    return 0


@compiled("void(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1],i8[::1],f8[:,::1])")
def fill_views(
    columns: Matrix, totals: Vector, directions: Matrix, phases: Vector, x: Vector, kinds: Indices, views: Matrix
) -> None:
    """Count the row in, and make the views that are read, each at the beginning of its row of `views`. O(d)."""
    d = x.size
    standard, peak = views[0, : d + 1], views[1, : read_width(kinds, 1, d)]
    square, wave = views[SQUARE, : read_width(kinds, SQUARE, d)], views[WAVE, : read_width(kinds, WAVE, d)]
    view_row(columns, totals, directions, phases, x, standard, peak, square, wave)


@compiled("f8(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1])")
def predict_row(
    columns: Matrix,
    totals: Vector,
    directions: Matrix,
    phases: Vector,
    expert_buffers: Vector,
    starts: Indices,
    kinds: Indices,
    mixture_buffer: Vector,
    x: Vector,
) -> float:
    """Return the mixture's log-odds, as if the row came next, or NaN where x is no row; touches nothing. O(K d²)."""
    if not is_row(columns, x):
        return math.nan
    d = x.size
    views = np.empty((4, max(view_width(0, d), view_width(SQUARE, d), view_width(WAVE, d))))
    # counts and a mixture_buffer of its own, so that threads may predict side by side
    fill_views(columns.copy(), totals.copy(), directions, phases, x, kinds, views)
    z = np.empty(kinds.size)
    for i in range(kinds.size):
        z[i] = predict_logit_one(expert_buffers[starts[i] : starts[i + 1]], views[kinds[i], : view_width(kinds[i], d)])
    return announce(unpack_compiled(mixture_buffer.copy(), kinds.size), z)


@compiled(
    "i8(f8[:,::1],f8[::1],f8[:,::1],f8[::1],f8[:,::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8,i8)"
)
def learn_row(
    columns: Matrix,
    totals: Vector,
    directions: Matrix,
    phases: Vector,
    views: Matrix,
    expert_buffers: Vector,
    starts: Indices,
    kinds: Indices,
    mixture_buffer: Vector,
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
        fill_views(columns, totals, directions, phases, x, kinds, views)
    K = kinds.size
    for i in range(first, K):
        buffer = expert_buffers[starts[i] : starts[i + 1]]
        p = play_one(buffer, views[kinds[i], : view_width(kinds[i], d)], y)
        if p == SPOILED:
            return i
        z[i] = buffer[LOGIT] if p >= 0.0 else 0.0  # a view too long for the expert: it has nothing to say
    slots = z[K:]
    slots[LABEL], slots[ROW_WEIGHT] = y, 1.0
    label, weight, announced = slots[LABEL:ROW_WEIGHT], slots[ROW_WEIGHT:SAID], slots[SAID:PROBABILITY]
    combine_rows(mixture_buffer, z[:K].reshape(1, K), label, weight, announced)
    said = slots[SAID]
    slots[PROBABILITY] = sigmoid(said)
    tally[ROUNDS] += 1.0
    tally[WEIGHT] += 1.0
    tally[LOSS] += softplus(-said if y > 0.5 else said)
    return DONE
