"""A node of a tree as numbers: its record, its box, what is noted of it on a row's path, and the functions of one."""

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
    "uniform",
    "with_class",
    "within_range",
]

Integers = NDArray[np.int64]

RATES = 3  # of the model in paths
DEEPEST = 250  # nodes on a path

# A node is one record: these numbers, then counts (K), then steps and squares of the model in paths (2·RATES·S). S is 1
# for two classes, K for more. FIRST is the left child, the right one is behind it. STOP, OWN and TREE are of trees that
# forget. The node's box, least and greatest of each column, is kept apart: following a path then reads little memory.
FIXED = 9
FIRST, FEATURE, THRESHOLD, BIRTH, ODDS, LAST, STOP, OWN, TREE = range(FIXED)

# What is noted of each node on a row's path: what it has kept of its counts, their sum, the probability that it gave to
# the label, and that which the subtree below gave, by how much the row is outside of its box, and in how many columns.
NOTES = 6
SHARE, TOTAL, SAID, BELOW, OUTSIDE, COLUMNS = range(NOTES)

# odds are kept within these: beyond, e^±667, evidence counts no further, and none of the two ways is ever ruled out
LEAST_ODDS, MOST_ODDS = 1e-290, 1e290

NODES, BOXES, USED = "f8[:,:,::1]", "f8[:,:,::1]", "i8[::1]"


def record_size(classes: int) -> int:
    """Return how many numbers the record of a node holds."""
    return FIXED + classes + 2 * RATES * outputs(classes)


def outputs(classes: int) -> int:
    """Return how many log-odds the model in paths has: one for two classes, one a class for more."""
    return 1 if classes == 2 else classes


def with_class(records: Cube, classes: int) -> Cube:
    """Return the records of nodes with one further class, which no row has had."""
    K, S, wider = classes, outputs(classes), outputs(classes + 1)
    more = np.zeros((*records.shape[:2], record_size(K + 1)))
    more[:, :, : FIXED + K] = records[:, :, : FIXED + K]
    for m in range(2 * RATES):  # steps, then squares, of each rate
        known = records[:, :, FIXED + K + m * S : FIXED + K + (m + 1) * S]
        if S == 1 and wider > 1:  # log-odds of the second class become logits of both, which add up to 0
            known = known * (np.array([-0.5, 0.5]) if m < RATES else 1.0)
        place = FIXED + K + 1 + m * wider
        more[:, :, place : place + known.shape[2]] = known
    return more


outputs_compiled = compiled("i8(i8)", inline=True)(outputs)


@compiled("f8(i8,i8,i8)", inline=True)
def uniform(tree: int, row: int, place: int) -> float:
    """Return a number between 0 and 1 that is as good as random, the same for the same three numbers. O(1)."""
    x = (
        np.uint64(tree + 1) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(row + 1) * np.uint64(0xBF58476D1CE4E5B9)
        + np.uint64(place + 1) * np.uint64(0x94D049BB133111EB)
    )
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (np.float64(x >> np.uint64(11)) + 0.5) / 9007199254740992.0


@compiled("f8(f8[::1],f8,f8)", inline=True)
def kept(node: Vector, log_rho: float, row: float) -> float:
    """Return what a tree that forgets has kept of a node's counts since its last row. O(1)."""
    return math.exp(log_rho * (row - node[LAST])) if log_rho < 0.0 else 1.0


@compiled("f8(f8[::1],i8)", inline=True)
def count_rows(node: Vector, K: int) -> float:
    """Return n, the sum of a node's counts. O(K)."""
    counts = node[FIXED : FIXED + K]  # a slice: an index that might be negative is not vectorised
    total = 0.0
    for c in range(K):
        total += counts[c]
    return total


@compiled("f8(f8[::1],f8,f8,i8,i8)", inline=True)
def predict_label(node: Vector, share: float, total: float, K: int, y: int) -> float:
    """Return $(n_y + ½)/(n + K/2)$, n being what is kept of the total. O(1)."""
    said: float = (node[FIXED + y] * share + 0.5) / (total * share + 0.5 * K)
    return said


@compiled("f8(f8)", inline=True)
def within_range(odds: float) -> float:
    """Return odds that are neither 0 nor infinite."""
    return min(max(odds, LEAST_ODDS), MOST_ODDS)


@compiled("f8(f8,f8,f8)", inline=True)
def odds_on(stop: float, own: float, below: float) -> float:
    r"""Return $\frac{1-s}{s} e^{\mathrm{below} - w}$, the odds r. O(1)."""
    return within_range((1.0 - stop) / stop * math.exp(min(below - own, 700.0)))


@compiled("f8(f8,f8,f8,f8)", inline=True)
def mixed_weight(stop: float, own: float, below: float, odds: float) -> float:
    r"""Return $\ln(s e^{w} + (1-s) e^{\mathrm{below}}) = w + \ln s(1+r)$, given the odds r. O(1)."""
    if odds < MOST_ODDS:
        return own + math.log(stop * (1.0 + odds))
    return below + math.log(1.0 - stop)
