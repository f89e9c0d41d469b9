"""Defines how a node of a tree is stored: its record, its box, what is noted of it for a row, and functions of one."""

import math

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Vector, compiled

__all__ = [
    "BELOW",
    "BIRTH",
    "BOXES",
    "COLUMNS",
    "DEEPEST",
    "FEATURE",
    "FIRST",
    "FIXED",
    "LAST",
    "MOST_ODDS",
    "NODES",
    "NOTES",
    "ODDS",
    "OUTSIDE",
    "OWN",
    "RATES",
    "SAID",
    "SHARE",
    "STOP",
    "THRESHOLD",
    "TOTAL",
    "TREE",
    "USED",
    "Integers",
    "count_rows",
    "kept",
    "mixed_weight",
    "odds_on",
    "outputs",
    "outputs_compiled",
    "predict_label",
    "record_size",
    "with_class",
    "within_range",
]

Integers = NDArray[np.int64]

RATES = 3  # step sizes of the linear model in the nodes of a row's paths (`states.forest.trees`), the model in paths
DEEPEST = 250  # nodes on a path

# A node is one record: these numbers, then K counts, then coefficients and sums of squared gradients of the model in
# paths (RATES·S of each; S is 1 for two classes, K for more). FIRST is the number of the left child, the right one is
# the next. BIRTH is the time in the Mondrian process at which the node came to be, ODDS is r, LAST the node's last row.
# STOP (s), OWN (w) and TREE (w̄) matter in trees that forget only. The node's box, least and greatest of each column in
# turn, is kept in another array: following a path then reads little memory.
FIXED = 9
FIRST, FEATURE, THRESHOLD, BIRTH, ODDS, LAST, STOP, OWN, TREE = range(FIXED)

# What is noted of each node on a row's path: the share of its counts that is not forgotten, the sum of its counts, the
# probability that it gave to the label, the probability that the subtree below gave to the label, by how much the row
# is outside of its box, and in how many columns.
NOTES = 6
SHARE, TOTAL, SAID, BELOW, OUTSIDE, COLUMNS = range(NOTES)

# Odds are cut off at these, e^±667, so that neither stopping nor going on is ever ruled out.
LEAST_ODDS, MOST_ODDS = 1e-290, 1e290

NODES, BOXES, USED = "f8[:,:,::1]", "f8[:,:,::1]", "i8[::1]"


def record_size(classes: int) -> int:
    """Return how many numbers the record of a node holds."""
    return FIXED + classes + 2 * RATES * outputs(classes)


def outputs(classes: int) -> int:
    """Return S, how many log-odds the model in paths gives: one for two classes, one a class for more."""
    return 1 if classes == 2 else classes


def with_class(records: Cube, classes: int) -> Cube:
    """Return the records of nodes with one further class, which no row has had."""
    K, S, wider = classes, outputs(classes), outputs(classes + 1)
    more = np.zeros((*records.shape[:2], record_size(K + 1)))
    more[:, :, : FIXED + K] = records[:, :, : FIXED + K]
    for m in range(2 * RATES):  # coefficients, then squares, of each rate
        known = records[:, :, FIXED + K + m * S : FIXED + K + (m + 1) * S]
        if S == 1 and wider > 1:  # log-odds of the second class become logits of both, which add up to 0
            known = known * (np.array([-0.5, 0.5]) if m < RATES else 1.0)
        place = FIXED + K + 1 + m * wider
        more[:, :, place : place + known.shape[2]] = known
    return more


outputs_compiled = compiled("i8(i8)", inline=True)(outputs)


@compiled("f8(f8[::1],f8,f8)", inline=True)
def kept(node: Vector, log_rho: float, row: float) -> float:
    r"""Return $\rho^{t - t_\mathrm{last}}$, what a tree keeps of a node's counts since its last row. O(1)."""
    return math.exp(log_rho * (row - node[LAST])) if log_rho < 0.0 else 1.0


@compiled("f8(f8[::1],i8)", inline=True)
def count_rows(node: Vector, K: int) -> float:
    """Return n, the sum of a node's counts. O(K)."""
    counts = node[FIXED : FIXED + K]  # a slice: Numba does not vectorise an index that might be negative
    total = 0.0
    for c in range(K):
        total += counts[c]
    return total


@compiled("f8(f8[::1],f8,f8,i8,i8)", inline=True)
def predict_label(node: Vector, share: float, total: float, K: int, y: int) -> float:
    r"""Return $(n_y + \tfrac12)/(n + K/2)$, where both counts are multiplied by the share kept. O(1)."""
    said: float = (node[FIXED + y] * share + 0.5) / (total * share + 0.5 * K)
    return said


@compiled("f8(f8)", inline=True)
def within_range(odds: float) -> float:
    """Return the odds, cut off where they come near 0 or infinity."""
    return min(max(odds, LEAST_ODDS), MOST_ODDS)


@compiled("f8(f8,f8,f8)", inline=True)
def odds_on(stop: float, own: float, below: float) -> float:
    r"""Return $r = \frac{1-s}{s} e^{\mathrm{below} - w}$, the odds of going on; below sums both $\bar w$. O(1)."""
    return within_range((1.0 - stop) / stop * math.exp(min(below - own, 700.0)))


@compiled("f8(f8,f8,f8,f8)", inline=True)
def mixed_weight(stop: float, own: float, below: float, odds: float) -> float:
    r"""Return $\bar w = \ln(s e^{w} + (1-s) e^{\mathrm{below}}) = w + \ln s(1+r)$, given the odds r. O(1)."""
    if odds < MOST_ODDS:
        return own + math.log(stop * (1.0 + odds))
    return below + math.log(1.0 - stop)
