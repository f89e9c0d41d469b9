"""A single row whose label comes late, through all views, experts and both mixtures: one compiled call from Python.

The arrays are those of `states.mixture.single_row` and `states.mixture.late`.
"""

import math

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid, softplus
from aioli.states.mixture.late_loops import AWAKE, MEMORY, PROMPT, WHOLE, announce_rows_late, answer_rows_late
from aioli.states.mixture.single_row import (
    DONE,
    LATE,
    LOSS,
    ROUNDS,
    SAID,
    SLOTS,
    WEIGHT,
    consult_rows,
    recount_rows,
    teach_row,
)
from aioli.streams.sparse_rows import Indices

__all__ = ["announce_row_late", "learn_row_late"]

KEPT = MEMORY  # plain names for Numba
PROBABILITY, IN_TIME = SLOTS - 1, SAID


@compiled("f8(f8[::1],f8[::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[::1],f8[::1])")
def announce_row_late(
    statistics: Vector,
    basis: Vector,
    expert_buffers: Vector,
    starts: Indices,
    kinds: Indices,
    mixture_buffer: Vector,
    numbers: Vector,
    experts: Matrix,
    stacker: Matrix,
    x: Vector,
    kept: Vector,
) -> float:
    """Return the log-odds of the whole and write the announcement's memory; NaN where x is no row. O(K d²).

    It touches nothing else, so that threads may predict side by side.
    """
    K = kinds.size
    Z, out = np.empty((1, K)), np.empty(1)
    if consult_rows(statistics, basis, expert_buffers, starts, kinds, x.reshape(1, x.size), Z) >= 0:
        return math.nan
    announce_rows_late(mixture_buffer.copy(), numbers, experts, stacker, Z, kept.reshape(1, K + KEPT), out)
    whole: float = out[0]
    return whole


@compiled(
    "i8(f8[::1],f8[::1],f8[:,::1],f8[::1],i8[::1],i8[::1],f8[::1],f8[::1],f8[::1],"
    "f8[::1],f8[:,::1],f8[:,::1],f8[::1],f8,f8,f8[::1],f8,i8)"
)
def learn_row_late(
    statistics: Vector,
    basis: Vector,
    views: Matrix,
    expert_buffers: Vector,
    starts: Indices,
    kinds: Indices,
    mixture_buffer: Vector,
    z: Vector,
    tally: Vector,
    numbers: Vector,
    experts: Matrix,
    stacker: Matrix,
    memory: Vector,
    logit: float,
    late: float,
    x: Vector,
    y: float,
    first: int,
) -> int:
    """Learn a row from expert `first` on; the last of z receives the probability announced. O(K d²).

    The place before it receives the log-odds of the mixture in time.
    `memory` and `logit` are of the row's announcement, whose label is `late` rows late; where both are NaN the row is
    announced now. Returns what `learn_row` does.
    """
    outcome = teach_row(statistics, basis, views, expert_buffers, starts, kinds, z, x, y, first)
    if outcome != DONE:
        return outcome
    K = kinds.size
    labels, weights, delays, prompt = np.full(1, y), np.ones(1), np.full(1, late), np.empty(1)
    kept = memory.copy().reshape(1, K + KEPT)
    now = z[:K].reshape(1, K)
    heard = K + (WHOLE if numbers[AWAKE] > 0.0 else PROMPT)
    answer_rows_late(mixture_buffer, numbers, experts, stacker, now, labels, weights, kept, delays, prompt)
    said = logit
    if math.isnan(logit):
        said = kept[0, heard]
    else:
        recount_rows(expert_buffers, starts, now, kept[0, :K].copy().reshape(1, K), labels, weights)
        tally[LATE] += 1.0
    z[K + IN_TIME], z[K + PROBABILITY] = prompt[0], sigmoid(said)
    tally[ROUNDS] += 1.0
    tally[WEIGHT] += 1.0
    tally[LOSS] += softplus(-said if y > 0.5 else said)
    return DONE
