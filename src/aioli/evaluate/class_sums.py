"""Sums over announced probabilities of K classes and the labels that came: one compiled pass, O(K) a row.

Every score of K classes is a function of these sums (`evaluate.class_functions`), as those of two classes are of the
sums in `evaluate.score_functions`. A class that comes later has its own sums from then on; the rows before it counted
as rows in which it had no probability and did not come, so that nothing depends on how the rows are cut into blocks.
"""

import math

import numpy as np
from numpy.typing import NDArray

from aioli.evaluate import score_functions as two
from aioli.evaluate.score_functions import SMALLEST, bin_of
from aioli.numerics.compiling import Cube, Matrix, Vector, compiled

__all__ = [
    "BASE",
    "CAME",
    "CLIPPED",
    "COARSE",
    "FIRST",
    "HITS",
    "LOST",
    "MISSES",
    "NATS",
    "PERIODS",
    "ROWS",
    "SAID",
    "SQUARES",
    "SUMMED",
    "TOP",
    "TOP_RANKS",
    "TOTALS",
    "add_class_rows",
    "coarse_bin_of",
    "coarsened",
]

ROWS, NATS, SQUARES, CLIPPED, TOP, BASE, FIRST = range(7)  # entries of `totals`
TOTALS = 7
MISSES, HITS, SUMMED = range(3)  # of `bins`: rows in which the class did not come, in which it did, and the sum of p
CAME, SAID, LOST = range(3)  # of `periods`: rows of the class, its summed probability, the nats of its rows
TOP_RANKS = 3
PERIODS = 64  # equally long parts of the stream; when they are full, two become one
FINER = 8  # bins of two classes in one of K classes
COARSE = (two.BINS - 1) // FINER + 1

Whole = NDArray[np.int64]


@compiled("i8(f8)")
def coarse_bin_of(p: float) -> int:
    """Return the bin of a probability, 0 to COARSE - 1: 32 to an octave of p and of 1 - p, ½ alone. O(1)."""
    fine = bin_of(p)
    if fine <= two.BINS // 2:
        return fine // FINER
    return COARSE - 1 - (two.BINS - 1 - fine) // FINER


def coarsened(bins: Matrix) -> Matrix:
    """Return the sums of the bins of two classes in those of K classes, of which each is whole."""
    half = two.BINS // 2
    low = np.arange(half + 1) // FINER
    places = np.concatenate([low, COARSE - 1 - low[:-1][::-1]])
    return np.stack([np.bincount(places, row, COARSE) for row in bins])


@compiled("void(f8[:,::1],i8[::1],b1,i8,f8[::1],f8[::1],f8[:,::1],f8[:,:,::1],f8[:,::1],f8[:,:,::1])")
def add_class_rows(
    P: Matrix,
    labels: Whole,
    declared: bool,
    period: int,
    totals: Vector,
    counts: Vector,
    confusion: Matrix,
    bins: Cube,
    confidence: Matrix,
    periods: Cube,
) -> None:
    r"""Add rows to every sum, in their order: probabilities of the classes, and the number of the one that came. O(K).

    Where the classes were not declared, the first row of a class could not have named it: its column of that row is the
    probability that some new class comes. It counts as announced loss, and never as the class that was predicted.

    The base rate is that of the running shares: with t rows and K classes so far it gives
    $(1-\varepsilon_t)(n_k + \tfrac12)/(t + \tfrac K2)$ to a class that has come $n_k$ times and
    $\varepsilon_t = (K + \tfrac12)/(t + 1)$ to a new one ($\varepsilon_0 = 1$); of declared classes it gives
    $(n_k + \tfrac12)/(t + \tfrac K2)$ to each.

    Where m classes share the largest probability, each counts as predicted by 1/m of the row.
    """
    classes = P.shape[1]
    known = 0
    for k in range(classes):
        known += counts[k] > 0.0
    for t in range(labels.size):
        y = labels[t]
        new = not declared and counts[y] == 0.0
        p = P[t, y]
        rows = totals[ROWS]
        nats = -math.log(max(p, SMALLEST))
        totals[NATS] += nats
        totals[CLIPPED] += 1.0 if p == 0.0 else 0.0
        if declared:
            totals[BASE] -= math.log((counts[y] + 0.5) / (rows + 0.5 * classes))
        else:
            escape = (known + 0.5) / (rows + 1.0) if rows else 1.0
            if new:
                totals[BASE] -= math.log(escape)
            else:
                totals[BASE] -= math.log((1.0 - escape) * (counts[y] + 0.5) / (rows + 0.5 * known))
        best, tied, squares = -1.0, 0, 0.0
        above, equal = 0, 1
        for k in range(classes):
            q = P[t, k]
            squares += (q - (k == y)) * (q - (k == y))
            if new and k == y:
                continue
            if q > best:
                best, tied = q, 1
            elif q == best:
                tied += 1
            if k != y:
                above += q > p
                equal += q == p
        totals[SQUARES] += squares
        if new:
            totals[FIRST] += 1.0
        else:
            totals[TOP] += min(max((TOP_RANKS - above) / equal, 0.0), 1.0)
        hit = 0.0
        if best > 0.0:
            for k in range(classes):
                if P[t, k] == best and not (new and k == y):
                    confusion[y, k] += 1.0 / tied
                    hit += (k == y) / tied
            b = coarse_bin_of(min(best, 1.0))
            confidence[HITS, b] += hit
            confidence[MISSES, b] += 1.0 - hit
            confidence[SUMMED, b] += best
        part = int(rows) // period
        for k in range(classes):
            q = P[t, k]
            b = coarse_bin_of(min(q, 1.0))
            bins[k, HITS if k == y else MISSES, b] += 1.0
            bins[k, SUMMED, b] += q
            periods[part, SAID, k] += q
        periods[part, CAME, y] += 1.0
        periods[part, LOST, y] += nats
        known += counts[y] == 0.0
        counts[y] += 1.0
        totals[ROWS] += 1.0
