"""A single row through all views, experts and the mixture: one compiled call from Python.

The experts' buffers lie one after the other in one array: expert i has `expert_buffers[starts[i]:starts[i + 1]]`, and
sees the view `kinds[i]`. Views that nobody sees are not made.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.copying import copy_numbers
from aioli.numerics.logistic import sigmoid, softplus
from aioli.outcomes.two_classes import Tally
from aioli.states.dense.single_row import LOGIT, RULES, SPOILED, TALLY, play_one, predict_logit_one
from aioli.states.mixture.mixture_loops import announce, combine_rows, unpack_compiled
from aioli.states.mixture.view_rows import KINDS, fill_views, is_row, remember_filled, view_width, widest_view
from aioli.streams.sparse_rows import Indices

__all__ = [
    "DONE",
    "LATE",
    "LOSS",
    "NO_ROW",
    "ROUNDS",
    "SAID",
    "SLOTS",
    "TOTALS",
    "WEIGHT",
    "consult_rows",
    "learn_row",
    "predict_row",
    "recount_rows",
    "teach_row",
]

DONE, NO_ROW = -1, -2  # what `learn_row` returns, if not the number of an expert that must be factored first
TOTALS = 4
ROUNDS, WEIGHT, LOSS, LATE = range(TOTALS)  # what is counted of the whole: late labels last
SLOTS = 4
LABEL, ROW_WEIGHT, SAID, PROBABILITY = range(SLOTS)  # behind the log-odds of the experts
LOSS_TALLY, REGRET_TALLY, IRREGULAR_TALLY = int(Tally.LOSS), int(Tally.REGRET), int(Tally.IRREGULAR)


@compiled("i8(f8[::1],f8[::1],f8[::1],i8[::1],i8[::1],f8[:,::1],f8[:,::1])")
def consult_rows(
    statistics: Vector,
    basis: Vector,
    expert_buffers: Vector,
    starts: Indices,
    kinds: Indices,
    X: Matrix,
    Z: Matrix,
) -> int:
    """Write each expert's log-odds of rows, each as if it came next; returns the first that is no row, or -1. O(K d²).

    It touches nothing, so that threads may predict side by side.
    """
    d = X.shape[1]
    views = np.empty((KINDS, widest_view(d)))
    own = statistics.copy()
    for t in range(len(X)):
        if not is_row(statistics, X[t]):
            return t
        if t > 0:
            copy_numbers(statistics, own)
        fill_views(own, basis, X[t], kinds, views)
        for i in range(kinds.size):
            view = views[kinds[i], : view_width(kinds[i], d, basis)]
            Z[t, i] = predict_logit_one(expert_buffers[starts[i] : starts[i + 1]], view)
    return -1


@compiled("f8(f8[::1],f8[::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1])")
def predict_row(
    statistics: Vector,
    basis: Vector,
    expert_buffers: Vector,
    starts: Indices,
    kinds: Indices,
    mixture_buffer: Vector,
    x: Vector,
) -> float:
    """Return the mixture's log-odds, as if the row came next, or NaN where x is no row; touches nothing. O(K d²)."""
    Z = np.empty((1, kinds.size))
    if consult_rows(statistics, basis, expert_buffers, starts, kinds, x.reshape(1, x.size), Z) >= 0:
        return math.nan
    return announce(unpack_compiled(mixture_buffer.copy(), kinds.size), Z[0])


@compiled("i8(f8[::1],f8[::1],f8[:,::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1],f8,i8)", uncounted=True)
def teach_row(
    statistics: Vector,
    basis: Vector,
    views: Matrix,
    expert_buffers: Vector,
    starts: Indices,
    kinds: Indices,
    z: Vector,
    x: Vector,
    y: float,
    first: int,
) -> int:
    """Let the experts from `first` on learn the row; z receives what each would have said of it now. O(K d²)."""
    d = x.size
    if first == 0:
        if not is_row(statistics, x):
            return NO_ROW
        fill_views(statistics, basis, x, kinds, views)
    for i in range(first, kinds.size):
        buffer = expert_buffers[starts[i] : starts[i + 1]]
        p = play_one(buffer, views[kinds[i], : view_width(kinds[i], d, basis)], y, math.nan)
        if p == SPOILED:
            return i
        z[i] = buffer[LOGIT] if p >= 0.0 else 0.0  # a view too long for the expert: it has nothing to say
    remember_filled(statistics, basis, kinds)  # now, when all have read the row: views may become wider by it
    return DONE


@compiled("i8(f8[::1],f8[::1],f8[:,::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8,f8,i8)")
def learn_row(
    statistics: Vector,
    basis: Vector,
    views: Matrix,
    expert_buffers: Vector,
    starts: Indices,
    kinds: Indices,
    mixture_buffer: Vector,
    z: Vector,
    tally: Vector,
    x: Vector,
    y: float,
    logit: float,
    first: int,
) -> int:
    """Play the row from expert `first` on; z receives their log-odds, and last the probability announced. O(K d²).

    The loss is counted at `logit`, the log-odds that were announced earlier; where it is NaN, at what is said now.
    """
    outcome = teach_row(statistics, basis, views, expert_buffers, starts, kinds, z, x, y, first)
    if outcome == DONE:
        hear_row(mixture_buffer, z, tally, kinds.size, y, logit)
    return outcome


@compiled("void(f8[::1],f8[::1],f8[::1],i8,f8,f8)")
def hear_row(mixture_buffer: Vector, z: Vector, tally: Vector, K: int, y: float, logit: float) -> None:
    """Let the mixture learn a row that the experts have learned, and count it where it was announced. O(K²)."""
    slots = z[K:]
    slots[LABEL], slots[ROW_WEIGHT] = y, 1.0
    label, weight, announced = slots[LABEL:ROW_WEIGHT], slots[ROW_WEIGHT:SAID], slots[SAID:PROBABILITY]
    combine_rows(mixture_buffer, z[:K].reshape(1, K), label, weight, announced)
    said = slots[SAID] if math.isnan(logit) else logit
    if not math.isnan(logit):
        tally[LATE] += 1.0
    slots[PROBABILITY] = sigmoid(said)
    tally[ROUNDS] += 1.0
    tally[WEIGHT] += 1.0
    tally[LOSS] += softplus(-said if y > 0.5 else said)


@compiled("void(f8[::1],i8[::1],f8[:,::1],f8[:,::1],f8[::1],f8[::1])")
def recount_rows(
    expert_buffers: Vector, starts: Indices, now: Matrix, announced: Matrix, y: Vector, weights: Vector
) -> None:
    """Count the experts' losses of rows where they were announced, and not where the labels found them. O(K) a row.

    The certificate's sum moves with the loss, as it does in `outcomes.two_classes` for a label that is late.
    """
    for i in range(starts.size - 1):
        tally = expert_buffers[starts[i] + RULES : starts[i] + TALLY]
        for t in range(y.size):
            then, here = announced[t, i], now[t, i]
            more = math.log((1.0 + math.exp(-abs(then))) / (1.0 + math.exp(-abs(here))))  # of two softplus, one log
            more += max(-then, 0.0) - max(-here, 0.0) if y[t] > 0.5 else max(then, 0.0) - max(here, 0.0)
            tally[LOSS_TALLY] += weights[t] * more
            tally[REGRET_TALLY] += weights[t] * more
            if weights[t] == 1.0:
                tally[IRREGULAR_TALLY] += 1.0
