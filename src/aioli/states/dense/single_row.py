"""A single row, as the user gave it: the shortest way from Python to the round and back."""

import math

import numpy as np

from aioli.numerics.compiling import Vector, compiled
from aioli.numerics.logistic import sigmoid
from aioli.numerics.root import root
from aioli.outcomes.spec import Rule
from aioli.outcomes.two_classes import Tally
from aioli.states.dense import factored, fused
from aioli.states.dense.state import State

__all__ = ["LOGIT", "REFUSED", "RULES", "SPOILED", "play_one", "predict_logit_one", "predict_one"]

REFUSED = -1.0  # not a row of this state: wrong width, not finite, or too long; the border says which
SPOILED = -2.0  # the row would cost P its digits: factor the state, then play it

# The layout of the buffer, and the loops: Numba wants plain names.
RULES, TALLY, SLOTS = len(Rule), len(Rule) + len(Tally), State.SLOTS
FACTORED, LABEL, WEIGHT, LOGIT = range(SLOTS - 4, SLOTS)
play_rows, play_rows_factored = fused.play_rows, factored.play_rows
multiply, whiten = fused.multiply, factored.whiten


@compiled("f8(f8[::1],f8[::1])", reassociate=True, uncounted=True)
def load_row(x: Vector, row: Vector) -> float:
    """Copy x behind the intercept, where there is one; returns the row's norm."""
    first = row.size - x.size
    norm2 = float(first)
    row[0] = 1.0
    for i in range(x.size):
        row[i + first] = x[i]
    for i in range(x.size):
        norm2 += x[i] * x[i]
    return math.sqrt(norm2)


@compiled("f8(f8[::1],f8[::1])", reassociate=True)
def predict_logit_one(buffer: Vector, x: Vector) -> float:
    """Return the log-odds of class 1, or NaN where the row is refused; touches nothing. O(d²)."""
    width = x.size + int(buffer[Rule.INTERCEPT])
    if buffer.size != SLOTS + (4 + width) * width:
        return math.nan
    w = buffer[SLOTS : SLOTS + width]
    P = buffer[SLOTS + 4 * width :].reshape(width, width)
    own = np.empty((2, width))  # not the state's workspace, so that threads may predict side by side
    row, k = own[0], own[1]
    if not load_row(x, row) <= buffer[Rule.WIDEST_ROW]:
        return math.nan
    v = 0.0
    m = 0.0
    if buffer[FACTORED] > 0.5:
        v = whiten(P, row, k)
    else:
        multiply(P, row, k)
        for i in range(width):
            v += row[i] * k[i]
    for i in range(width):
        m += row[i] * w[i]
    return root(m, 0.5 * buffer[Rule.REGULARISER] * max(v, 0.0))


@compiled("f8(f8[::1],f8[::1])")
def predict_one(buffer: Vector, x: Vector) -> float:
    """Return the probability of class 1, or REFUSED; touches nothing. O(d²)."""
    z = predict_logit_one(buffer, x)
    return REFUSED if math.isnan(z) else sigmoid(z)


@compiled("f8(f8[::1],f8[::1],f8,f8)", uncounted=True)
def play_one(buffer: Vector, x: Vector, y: float, logit: float) -> float:
    """Play a row of weight 1; returns the probability announced, REFUSED or SPOILED. O(d²)."""
    width = x.size + int(buffer[Rule.INTERCEPT])
    if buffer.size != SLOTS + (4 + width) * width:
        return REFUSED
    rules, tally = buffer[:RULES], buffer[RULES:TALLY]
    w = buffer[SLOTS : SLOTS + width]
    workspace = buffer[SLOTS + width : SLOTS + 4 * width].reshape(3, width)
    P = buffer[SLOTS + 4 * width :].reshape(width, width)
    if not load_row(x, workspace[0]) <= buffer[Rule.WIDEST_ROW]:
        return REFUSED
    buffer[LABEL], buffer[WEIGHT], buffer[LOGIT] = y, 1.0, logit
    row, labels, weights, logits = workspace[0:1], buffer[LABEL:WEIGHT], buffer[WEIGHT:LOGIT], buffer[LOGIT:SLOTS]
    if buffer[FACTORED] > 0.5:
        play_rows_factored(P, w, tally, rules, workspace, row, labels, weights, logits)
    elif play_rows(P, w, tally, rules, workspace, row, labels, weights, logits) == 0:
        return SPOILED
    return sigmoid(logits[0])
