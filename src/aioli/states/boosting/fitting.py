r"""Fits a boosted model to rows: tree after tree, each to the gradients that the ones before have left.

Two classes have one score, the log-odds z of the second: $p = \sigma(z)$, $g = p - y$, $h = p(1-p)$. K classes have a
score each: $p = \mathrm{softmax}(z)$, $g_k = p_k - 1[y = k]$, $h_k = p_k(1 - p_k)$, and a tree for each score in every
round. Scores begin at those of the classes' shares. A tree reads half of the columns, drawn anew for each: it takes
half of the time, and trees that differ are worth more together.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.numerics.pseudo_random import uniform
from aioli.states.boosting.bins import BINS, Bins
from aioli.states.boosting.cells import BinnedRows, Listed
from aioli.states.boosting.growing import (
    BEGIN,
    CHANCE,
    GROWN,
    LEAVES,
    NODE,
    NODES,
    NUMBER,
    SCANNED,
    SUMMED,
    USUAL,
    grow_tree,
)

__all__ = ["SWIFT", "THOROUGH", "Boosting", "fit"]

MOST_COLUMNS = 128  # that a tree reads
NOWHERE = -1  # in place of a column that a tree does not read
CERTAIN = 32.0  # log-odds, beyond which p is as good as 0 or 1
PSEUDO = 0.5  # rows that each class is counted more than it has

Numbers = NDArray[np.int64]


class Boosting(NamedTuple):
    """Say how models are fitted, and when.

    Attributes
    ----------
    stages
        The rounds after which scores are said, the last of them after all: few rows want few trees.
    rate
        The part of its best value that a leaf adds to a score; between fits leaves move by half of that part.
    fresh
        The part of the rows that a model is fitted to that must be new since the last fit.
    newest
        How many rows a model is fitted to at the most: the newest.
    """

    stages: tuple[int, ...]
    rate: float
    fresh: float
    newest: int = 16_384

    @property
    def rounds(self) -> int:
        """How many trees a score has."""
        return self.stages[-1]


THOROUGH = Boosting((25, 100), 0.1, 0.5)  # for one score a row
SWIFT = Boosting((10, 40), 0.25, 1.0)  # for a score a class: a fifth of the time, for most of the gain


def fit(how: Boosting, X: Matrix, codes: Numbers, weights: Vector, outputs: int) -> tuple[Vector, Cube]:
    """Return the scores that a model of these rows begins with, and its trees, round after round. O(n d) a tree.

    `outputs` is 1 for two classes, and otherwise the number of classes.
    """
    shares = np.bincount(codes, weights, max(outputs, 2)) + PSEUDO
    begin = np.log(shares / shares.sum())
    base: Vector = begin[1:] - begin[0] if outputs == 1 else begin
    trees: Cube = np.empty((how.rounds * outputs, NODES, NODE))
    boost(*BinnedRows.of(X), codes, weights, how.rate, base, trees)
    return base, trees


@compiled(
    "void(f8[:,::1],i8[::1],u1[:,::1],i8[::1],i8[::1],i8[::1],i8[::1],i4[::1],i8[::1],f8[::1],f8,f8[::1],f8[:,:,::1])"
)
def boost(
    cuts: Matrix,
    bin_counts: Numbers,
    bins: Bins,
    dense: Numbers,
    listed: Numbers,
    usual: Numbers,
    listed_from: Numbers,
    unusual: Listed,
    codes: Numbers,
    weights: Vector,
    rate: float,
    base: Vector,
    trees: Cube,
) -> None:
    """Grow all trees on the rows that `BinnedRows` holds. O(3 n d / 2) a tree, of dense columns."""
    rows, outputs = len(bins), base.size
    scores = np.empty((outputs, rows))
    for k in range(outputs):
        scores[k] = base[k]
    drawn = min((dense.size + 1) // 2, MOST_COLUMNS)
    most = BINS * drawn  # bins, at the most
    for i in range(listed.size):
        most += bin_counts[listed[i]]
    columns, begins, believed = np.zeros((SUMMED, drawn + listed.size + 1), np.int64), listed.copy(), np.empty(most)
    shuffled = dense.copy()
    slopes, order, leaves = np.empty((outputs, rows, 2)), np.empty((2, rows), np.int64), np.empty((LEAVES, GROWN))
    sums, scanned = np.zeros((LEAVES, most, 2)), np.empty((SCANNED, most))
    room = np.empty(rows)
    for tree in range(len(trees)):
        k = tree % outputs
        if k == 0:
            find_slopes(scores, codes, weights, slopes, room)
        for c in range(drawn):
            other = c + int(uniform(tree, rows, c) * (dense.size - c))
            shuffled[c], shuffled[other] = shuffled[other], shuffled[c]
            columns[NUMBER, c] = shuffled[c]
        count = drawn
        for i in range(listed.size):
            begins[i] = NOWHERE
            if uniform(tree, rows, dense.size + i) < 0.5:
                begins[i], columns[NUMBER, count], columns[USUAL, count] = count, listed[i], usual[i]
                count += 1
        place_bins(columns, count, bin_counts, believed)
        end = columns[BEGIN, count]
        for i in range(listed.size):
            if begins[i] == NOWHERE:  # its sums are not read, but sums of many columns in one place would take turns
                begins[i] = end
                end += bin_counts[listed[i]]
            else:
                begins[i] = columns[BEGIN, begins[i]]
        grow_tree(
            bins,
            listed_from,
            unusual,
            begins,
            cuts,
            columns,
            drawn,
            count,
            believed,
            slopes[k],
            rate,
            order,
            sums,
            leaves,
            scanned,
            trees[tree],
            scores[k],
        )


@compiled("void(i8[:,::1],i8,i8[::1],f8[::1])", uncounted=True)
def place_bins(columns: Numbers, count: int, bin_counts: Numbers, believed: Vector) -> None:
    """Place the bins of the columns of a tree side by side; write which part of the gain counts at each. O(bins)."""
    begin = 0
    for c in range(count):
        cuts = bin_counts[columns[NUMBER, c]] - 1
        columns[BEGIN, c] = begin
        for b in range(cuts):
            believed[begin + b] = 1.0 / (1.0 + CHANCE * math.log(cuts))
        believed[begin + cuts] = 0.0
        begin += cuts + 1
    columns[BEGIN, count] = begin


@compiled("void(f8[::1],f8[::1])")
def write_probabilities(scores: Vector, p: Vector) -> None:
    r"""Write $\sigma(z)$ of log-odds, in vector instructions, to ten digits: gradients need no more. O(1) each.

    $e^{-z} = (e^{-z/256})^{256}$: the Taylor polynomial of degree 8, squared eight times.
    """
    for t in range(scores.size):
        r = min(max(-scores[t], -CERTAIN), CERTAIN) / 256.0
        e = 1.0 + r / 8.0
        for degree in (7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0):
            e = 1.0 + r / degree * e
        for _ in range(8):
            e *= e
        p[t] = 1.0 / (1.0 + e)


@compiled("void(f8[:,::1],i8[::1],f8[::1],f8[:,:,::1],f8[::1])", uncounted=True)
def find_slopes(scores: Matrix, codes: Numbers, weights: Vector, slopes: Cube, room: Vector) -> None:
    """Write the gradient and the curvature of each row's loss in each score. O(K) a row."""
    outputs = len(scores)
    if outputs == 1:
        write_probabilities(scores[0], room)
        for t in range(codes.size):
            w, p = weights[t], room[t]
            slopes[0, t, 0], slopes[0, t, 1] = w * (p - codes[t]), w * p * (1.0 - p)
        return
    for t in range(codes.size):
        w = weights[t]
        top = scores[0, t]
        for k in range(1, outputs):
            top = max(top, scores[k, t])
        total = 0.0
        for k in range(outputs):
            total += math.exp(scores[k, t] - top)
        for k in range(outputs):
            p = math.exp(scores[k, t] - top) / total
            slopes[k, t, 0], slopes[k, t, 1] = w * (p - (1.0 if codes[t] == k else 0.0)), w * p * (1.0 - p)
