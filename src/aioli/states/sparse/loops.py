r"""Rows of a CSR matrix through views, experts, naive Bayes and the mixture: one compiled loop, O(K nnz + K²) a row.

All that is known of column j lies side by side in `records[j]`: its frequency, size and counts (`states.sparse.views`,
`states.sparse.naive_bayes`), its share of the gradient, then what each expert keeps of it (`states.sparse.diagonal`). A
column that has not been met is all zeros, so growing by columns is nothing but more zeros.

The certificate needs neither the experts nor the mixture, only what was announced. The loss is convex, so with
$g = \omega(\sigma(z) - y)$ and $\bar x = (1, x/\|x\|)$

$$\sum_t \ell_t(z_t) - \sum_t \ell_t(\theta^\top\bar x_t) \le \sum_t g_t(z_t - \theta^\top\bar x_t)
  \le \sum_t g_t z_t + B\,\Bigl\|\sum_t g_t\bar x_t\Bigr\| \quad \text{for every } \|\theta\| \le B.$$
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from aioli.numerics.compiling import Matrix, Vector, compiled
from aioli.numerics.logistic import sigmoid, softplus
from aioli.states.mixture.late_loops import (
    AWAKE,
    PROMPT,
    WHOLE,
    announce_rows_late,
    answer_rows_late,
    next_unannounced,
)
from aioli.states.mixture.mixture_loops import announce, answer, unpack_compiled
from aioli.states.sparse.diagonal import SLOTS, learn_row, measure_row
from aioli.states.sparse.naive_bayes import count_words, naive_bayes
from aioli.states.sparse.views import FREQUENCY, SIZE, VIEWS, view_row
from aioli.streams.sparse_rows import Indices

__all__ = [
    "GRADIENT",
    "WideTally",
    "announce_rows_wide",
    "length_of_entries",
    "play_rows",
    "play_rows_late",
    "predict_rows",
    "record_size",
]

KINDS = len(VIEWS)
GRADIENT = 4  # where a column's share of Σ g x̄ lies, behind frequency, size and the two counts
COLUMN = 5  # numbers of a column that belong to no expert
EXPERT_SLOTS = SLOTS

Known: TypeAlias = tuple[Matrix, Matrix, Indices, Vector, Vector]  # records, totals, kinds, the mixture, tally
LateLayer: TypeAlias = tuple[Vector, Matrix, Matrix]  # numbers, experts and stacker of `states.mixture.late`
Entries: TypeAlias = tuple[Indices, Indices, Vector]  # indptr, indices and data of CSR rows
KNOWN, LATE = "Tuple((f8[:,::1],f8[:,::1],i8[::1],f8[::1],f8[::1]))", "Tuple((f8[::1],f8[:,::1],f8[:,::1]))"
ENTRIES = "Tuple((i8[::1],i8[::1],f8[::1]))"


class WideTallies(NamedTuple):
    """Give each running total its place in the tally: integers for Numba's sake, as in `spec.Rules`."""

    ROUNDS: int = 0
    WEIGHT: int = 1
    LOSS: int = 2
    ONES: int = 3  # the weight of label 1
    ZEROS: int = 4
    GRADIENT: int = 5  # Σ g: the intercept's share of Σ g x̄
    LINEAR: int = 6  # Σ gz
    GRADIENT_SIZE: int = 7  # Σ|g| and Σ|gz|: by how much rounding may have moved the sums
    LINEAR_SIZE: int = 8


WideTally = WideTallies()


def record_size(experts: int) -> int:
    """Return how many numbers are kept of a column."""
    return COLUMN + experts * SLOTS


@compiled("void(f8[:,::1],f8[:,::1],i8[::1],f8[::1],i8[::1],f8[::1],f8[:,::1],f8[:,::1],f8[::1])")
def ask_experts(
    records: Matrix,
    totals: Matrix,
    kinds: Indices,
    tally: Vector,
    columns: Indices,
    x: Vector,
    views: Matrix,
    found: Matrix,
    z: Vector,
) -> None:
    """Write each expert's m, v and r to `found`, and its log-odds to `z`; naive Bayes comes last. O(K nnz)."""
    view_row(records, tally[WideTally.ROUNDS], columns, x, views)
    for i in range(kinds.size):
        first = COLUMN + EXPERT_SLOTS * i
        m, v, r = measure_row(records, first, totals[i], columns, views[kinds[i], : x.size])
        found[i, 0], found[i, 1], found[i, 2] = m, v, r
        z[i] = m
    z[kinds.size] = naive_bayes(records, tally[WideTally.ONES], tally[WideTally.ZEROS], columns)


@compiled("f8(i8[::1],f8[::1],i8)")
def length_of_entries(columns: Indices, x: Vector, width: int) -> float:
    r"""Return $\|x\|$ of a row whose columns are in order, within the width and not 0; NaN of any other. O(nnz)."""
    norm2 = 0.0
    before = -1
    for i in range(x.size):
        if not (before < columns[i] < width) or x[i] == 0.0:
            return math.nan
        before = columns[i]
        norm2 += x[i] * x[i]
    return math.sqrt(norm2)


@compiled("i8(i8[::1])")
def longest_row(indptr: Indices) -> int:
    """Return the most entries that a row has."""
    longest = 0
    for t in range(indptr.size - 1):
        longest = max(longest, indptr[t + 1] - indptr[t])
    return longest


@compiled(f"void({KNOWN},{ENTRIES},f8[::1])")
def predict_rows(known: Known, entries: Entries, out: Vector) -> None:
    """Write the log-odds of each row, as if it came next; touches nothing else. O(K nnz + K²) a row."""
    records, totals, kinds, mixture_buffer, tally = known
    indptr, indices, data = entries
    K = kinds.size
    views, found, z = np.empty((KINDS, longest_row(indptr))), np.empty((K, 3)), np.empty(K + 1)
    parts = unpack_compiled(mixture_buffer.copy(), K + 1)  # its own copy, so that threads may predict side by side
    for t in range(out.size):
        columns, x = indices[indptr[t] : indptr[t + 1]], data[indptr[t] : indptr[t + 1]]
        ask_experts(records, totals, kinds, tally, columns, x, views, found, z)
        out[t] = announce(parts, z)


@compiled("void(f8[:,::1],f8[::1],i8[::1],f8[::1],f8,f8,f8,f8)")
def count_row(
    records: Matrix, tally: Vector, columns: Indices, x: Vector, norm: float, y: float, weight: float, said: float
) -> None:
    """Add the row and its loss to the statistics of the columns, the totals and the certificate. O(nnz)."""
    positive = y > 0.5
    g = -weight * sigmoid(-said) if positive else weight * sigmoid(said)
    share = g / norm if norm > 0.0 else 0.0
    for i in range(x.size):
        j = columns[i]
        records[j, FREQUENCY] += 1.0
        records[j, SIZE] += abs(x[i])
        records[j, GRADIENT] += share * x[i]
    tally[WideTally.ROUNDS] += 1.0
    tally[WideTally.WEIGHT] += weight
    tally[WideTally.LOSS] += weight * softplus(-said if positive else said)
    tally[WideTally.ONES if positive else WideTally.ZEROS] += weight
    tally[WideTally.GRADIENT] += g
    tally[WideTally.LINEAR] += g * said
    tally[WideTally.GRADIENT_SIZE] += abs(g)
    tally[WideTally.LINEAR_SIZE] += abs(g * said)


@compiled("void(f8[:,::1],f8[:,::1],i8[::1],i8[::1],f8[::1],f8[:,::1],f8[:,::1],f8,f8)")
def teach_row(
    records: Matrix,
    totals: Matrix,
    kinds: Indices,
    columns: Indices,
    x: Vector,
    views: Matrix,
    found: Matrix,
    y: float,
    weight: float,
) -> None:
    """Let the experts and naive Bayes learn a row that they were just asked about. O(K nnz)."""
    for i in range(kinds.size):
        view = views[kinds[i], : x.size]
        first = COLUMN + EXPERT_SLOTS * i
        learn_row(records, first, totals[i], columns, view, found[i, 0], found[i, 1], found[i, 2], y, weight)
    count_words(records, columns, y, weight)


@compiled(f"void({KNOWN},{ENTRIES},f8[::1],f8[::1],f8[::1],f8[::1])")
def play_rows(known: Known, entries: Entries, norms: Vector, labels: Vector, weights: Vector, logits: Vector) -> None:
    """Announce and learn, row after row; `logits` receives what was announced, where it is not late. O(K nnz + K²)."""
    records, totals, kinds, mixture_buffer, tally = known
    indptr, indices, data = entries
    K = kinds.size
    views, found, z = np.empty((KINDS, longest_row(indptr))), np.empty((K, 3)), np.empty(K + 1)
    parts = unpack_compiled(mixture_buffer, K + 1)
    for t in range(labels.size):
        columns, x = indices[indptr[t] : indptr[t + 1]], data[indptr[t] : indptr[t + 1]]
        y, weight = labels[t], weights[t]
        ask_experts(records, totals, kinds, tally, columns, x, views, found, z)
        said = announce(parts, z)
        answer(parts, y, weight)
        teach_row(records, totals, kinds, columns, x, views, found, y, weight)
        if math.isnan(logits[t]):
            logits[t] = said
        count_row(records, tally, columns, x, norms[t], y, weight, logits[t])


@compiled(f"void({KNOWN},{LATE},{ENTRIES},f8[:,::1],f8[::1])")
def announce_rows_wide(known: Known, late_layer: LateLayer, entries: Entries, kept: Matrix, out: Vector) -> None:
    """Write the log-odds of rows, each as if it came next, and what their tickets keep. O(K nnz + K) a row."""
    records, totals, kinds, mixture_buffer, tally = known
    indptr, indices, data = entries
    numbers, experts, stacker = late_layer
    K = kinds.size
    views, found, Z = np.empty((KINDS, longest_row(indptr))), np.empty((K, 3)), np.empty((out.size, K + 1))
    for t in range(out.size):
        columns, x = indices[indptr[t] : indptr[t + 1]], data[indptr[t] : indptr[t + 1]]
        ask_experts(records, totals, kinds, tally, columns, x, views, found, Z[t])
    scratch = mixture_buffer.copy()  # its own, so that threads may predict side by side
    announce_rows_late(scratch, numbers, experts, stacker, Z, kept, out)


@compiled(f"void({KNOWN},{LATE},{ENTRIES},f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1],f8[::1])")
def play_rows_late(
    known: Known,
    late_layer: LateLayer,
    entries: Entries,
    norms: Vector,
    labels: Vector,
    weights: Vector,
    logits: Vector,
    kept: Matrix,
    late: Vector,
) -> None:
    """Learn rows as they were announced (`states.mixture.late`), or announce them now where `kept` is NaN.

    The experts do not hear the mixture: where all rows were announced, it learns them in one call behind the experts.
    """
    records, totals, kinds, mixture_buffer, tally = known
    indptr, indices, data = entries
    numbers, experts, stacker = late_layer
    K = kinds.size
    views, found, Z = np.empty((KINDS, longest_row(indptr))), np.empty((K, 3)), np.empty((labels.size, K + 1))
    state, prompt = (mixture_buffer, numbers, experts, stacker), np.empty(labels.size)
    together = next_unannounced(kept, K + 1 + WHOLE, 0) == labels.size and not np.isnan(logits).any()
    for t in range(labels.size):
        one = slice(t, t + 1)
        columns, x = indices[indptr[t] : indptr[t + 1]], data[indptr[t] : indptr[t + 1]]
        ask_experts(records, totals, kinds, tally, columns, x, views, found, Z[t])
        if not together:
            heard = K + 1 + (WHOLE if numbers[AWAKE] > 0.0 else PROMPT)
            answer_rows_late(*state, Z[one], labels[one], weights[one], kept[one], late[one], prompt[one])
            if math.isnan(logits[t]):
                logits[t] = kept[t, heard]
        teach_row(records, totals, kinds, columns, x, views, found, labels[t], weights[t])
        count_row(records, tally, columns, x, norms[t], labels[t], weights[t], logits[t])
    if together:
        answer_rows_late(*state, Z, labels, weights, kept, late, prompt)
