r"""Grows one tree of a boosted model: splits by gain, the best leaf first.

The rows of a leaf have gradients $g_t$ and curvatures $h_t$ of their losses, $G = \sum g_t$ and $H = \sum h_t$. The
value that lowers the leaf's loss most, to second order and with a ridge λ = 1, is $-G/(H+\lambda)$. A split into left
and right gains

$$\frac{G_L^2}{H_L+\lambda} + \frac{G_R^2}{H_R+\lambda} - \frac{G^2}{H+\lambda},$$

twice what the loss falls by. Both sides need $H \ge 0.1$: one row at log-odds of 0, many where rows are certain. The
best of many cuts gains more by chance than an only one does: so that columns of noise win fewer leaves from columns of
two values, the gain of a column of m cuts counts as $1/(1 + 0.15\ln m)$ of itself.

Sums over the rows of a leaf, by column and bin, give the gains of all its splits; the larger child's sums are the
parent's less those of the smaller one. Where both have H < 0.2 neither has a split, and no sums are made. Chen and
Guestrin 2016, XGBoost; Ke et al. 2017, LightGBM.
"""

import math

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.states.boosting.bins import Bins
from aioli.states.boosting.cells import Listed

__all__ = [
    "BINNED",
    "CHILD",
    "FEATURE",
    "GROWN",
    "LEAF",
    "LEAVES",
    "NODE",
    "NODES",
    "NUMBER",
    "SUMMED",
    "THRESHOLD",
    "USUAL",
    "VALUE",
    "grow_tree",
]

LEAVES = 32  # of a tree, at most
NODES = 2 * LEAVES - 1
NODE = 4  # numbers of a node
FEATURE, THRESHOLD, CHILD, VALUE = range(NODE)  # a cell of at most the threshold goes to the child, any other behind it
LEAF = -1.0  # in the place of the column

RIDGE = 1.0
CHANCE = 0.15  # by the logarithm of a column's cuts: how much of its gains is chance
LEAST = 0.1  # curvature on either side of a split
BOLDEST = 1.0  # that a tree may move a score by: where rows are certain and wrong, G/(H+λ) is large
EMPTY = 1e-9  # curvature of a bin without rows, or of rows that are all but certain: no gain is looked for behind it
TELLING = 1e-9  # gains below it are rounding

# of a leaf, while the tree grows: the node, its rows among all, their G and H, and the best split: gain, column among
# those drawn, bin, and G and H on the left
GROWN = 10
PLACE, FIRST, LAST, GRADIENT, CURVATURE, GAIN, COLUMN, BIN, LEFT_GRADIENT, LEFT_CURVATURE = range(GROWN)

# lines about the columns that are summed: their numbers, how many bins each has, 0 where the tree may not split it, and
# its usual bin where unusual cells are listed, as those of the columns behind the dense ones are
SUMMED = 3
NUMBER, BINNED, USUAL = range(SUMMED)

Numbers = NDArray[np.int64]
Sums = NDArray[np.float64]  # of four axes: leaves, columns, bins, and g or h


@compiled("void(u1[:,::1],i8[::1],i4[::1],i8[:,::1],i8,f8[:,::1],i8[::1],i8,i8,f8[:,:,::1])", uncounted=True)
def add_up(
    bins: Bins,
    listed_from: Numbers,
    unusual: Listed,
    columns: Numbers,
    dense: int,
    slopes: Matrix,
    order: Numbers,
    first: int,
    last: int,
    sums: Cube,
) -> None:
    """Write the sums of g and h over rows of a leaf, by column and bin. O(dense + unusual cells) a row."""
    for c in range(sums.shape[0]):
        for b in range(columns[BINNED, c]):
            sums[c, b, 0] = sums[c, b, 1] = 0.0
    listed = sums[dense:].reshape((sums.shape[0] - dense) * sums.shape[1], 2)
    G, H = 0.0, 0.0
    for t in range(first, last):
        row = np.uintp(order[t])  # without a sign: no index is counted from the end
        g, h = slopes[row, 0], slopes[row, 1]
        G += g
        H += h
        cells = bins[row]
        for c in range(dense):
            at = sums[c, cells[np.uintp(columns[NUMBER, c])]]
            at[0] += g
            at[1] += h
        for i in range(listed_from[row], listed_from[row + 1]):
            at = listed[np.uintp(unusual[i])]
            at[0] += g
            at[1] += h
    for c in range(dense, sums.shape[0]):
        g, h = G, H
        for b in range(columns[BINNED, c]):
            g -= sums[c, b, 0]
            h -= sums[c, b, 1]
        if columns[BINNED, c]:
            usual = sums[c, columns[USUAL, c]]
            usual[0], usual[1] = g, h


@compiled("void(i8[:,::1],f8[:,:,::1],f8[:,:,::1])", uncounted=True)
def copy_sums(columns: Numbers, known: Cube, room: Cube) -> None:
    """Copy the sums of a leaf. O(64 d)."""
    for c in range(known.shape[0]):
        for b in range(columns[BINNED, c]):
            room[c, b, 0], room[c, b, 1] = known[c, b, 0], known[c, b, 1]


@compiled("void(i8[:,::1],f8[:,:,::1],f8[:,:,::1])", uncounted=True)
def subtract(columns: Numbers, sums: Cube, of_some: Cube) -> None:
    """Take the sums of some rows of a leaf away from those of all. O(64 d)."""
    for c in range(sums.shape[0]):
        for b in range(columns[BINNED, c]):
            sums[c, b, 0] -= of_some[c, b, 0]
            sums[c, b, 1] -= of_some[c, b, 1]


@compiled("void(i8[:,::1],f8[:,:,::1],f8[::1])", uncounted=True)
def find_split(columns: Numbers, sums: Cube, leaf: Vector) -> None:
    """Find the split of a leaf that gains most; its gain is 0 where there is none. O(64 d)."""
    G, H = leaf[GRADIENT], leaf[CURVATURE]
    whole = G * G / (H + RIDGE)
    leaf[GAIN] = 0.0
    for c in range(sums.shape[0]):
        g, h = 0.0, 0.0
        believed = 1.0 / (1.0 + CHANCE * math.log(max(columns[BINNED, c] - 1, 1)))
        for b in range(columns[BINNED, c] - 1):
            g += sums[c, b, 0]
            h += sums[c, b, 1]
            if sums[c, b, 1] > EMPTY and h >= LEAST and H - h >= LEAST:
                left, right = h + RIDGE, H - h + RIDGE
                gain = (g * g * right + (G - g) * (G - g) * left) / (left * right) - whole  # one division: it is slow
                gain *= believed
                if gain > leaf[GAIN]:
                    leaf[GAIN], leaf[COLUMN], leaf[BIN] = gain, c, b
                    leaf[LEFT_GRADIENT], leaf[LEFT_CURVATURE] = g, h


@compiled("i8(u1[:,::1],i8,i8,i8[::1],i8[::1],i8,i8)", uncounted=True)
def divide(bins: Bins, column: int, at: int, order: Numbers, spare: Numbers, first: int, last: int) -> int:
    """Put the rows of a leaf whose bin is at most `at` before the others; return where the others begin. O(1) a row."""
    left, right = first, 0
    for t in range(first, last):
        row = order[t]
        order[left] = spare[right] = row  # both, and no branch: which way a row goes cannot be foretold
        goes_left = 1 if bins[np.uintp(row), column] <= at else 0
        left += goes_left
        right += 1 - goes_left
    for t in range(right):
        order[left + t] = spare[t]
    return left


@compiled(
    "void(u1[:,::1],i8[::1],i4[::1],f8[:,::1],i8[:,::1],i8,f8[:,::1],f8,i8[:,::1],f8[:,:,:,::1],f8[:,::1],f8[:,::1],f8[::1])",
    uncounted=True,
)
def grow_tree(
    bins: Bins,
    listed_from: Numbers,
    unusual: Listed,
    cuts: Matrix,
    columns: Numbers,
    dense: int,
    slopes: Matrix,
    rate: float,
    order: Numbers,
    sums: Sums,
    leaves: Matrix,
    tree: Matrix,
    scores: Vector,
) -> None:
    """Grow a tree on the columns drawn, and add what it says to the scores of its rows. O(3 n d), about.

    `bins`, `listed_from` and `unusual` are those of `BinnedRows`; `columns` is about the columns that are summed, of
    which `dense` are not listed, and `slopes` holds g and h of every row. `order`, of two lines of n, `sums` and
    `leaves` are room to work in.
    """
    rows = len(bins)
    G, H = 0.0, 0.0
    for t in range(rows):
        order[0, t] = t
        G += slopes[t, 0]
        H += slopes[t, 1]
    root = leaves[0]
    root[PLACE], root[FIRST], root[LAST], root[GRADIENT], root[CURVATURE] = 0.0, 0.0, rows, G, H
    add_up(bins, listed_from, unusual, columns, dense, slopes, order[0], 0, rows, sums[0])
    find_split(columns, sums[0], root)
    grown, nodes = 1, 1
    for i in range(NODES):
        tree[i, FEATURE] = LEAF
        tree[i, THRESHOLD] = tree[i, CHILD] = tree[i, VALUE] = 0.0
    while grown < LEAVES:
        best = 0
        for i in range(1, grown):
            if leaves[i, GAIN] > leaves[best, GAIN]:
                best = i
        left, right = leaves[best], leaves[grown]
        if not left[GAIN] > TELLING:
            break
        column, at = columns[NUMBER, int(left[COLUMN])], int(left[BIN])
        first, last = int(left[FIRST]), int(left[LAST])
        middle = divide(bins, column, at, order[0], order[1], first, last)
        node = tree[int(left[PLACE])]
        node[FEATURE], node[THRESHOLD], node[CHILD] = column, cuts[column, at], nodes
        right[PLACE], right[FIRST], right[LAST] = nodes + 1, middle, last
        right[GRADIENT] = left[GRADIENT] - left[LEFT_GRADIENT]
        right[CURVATURE] = left[CURVATURE] - left[LEFT_CURVATURE]
        left[PLACE], left[LAST] = nodes, middle
        left[GRADIENT], left[CURVATURE] = left[LEFT_GRADIENT], left[LEFT_CURVATURE]
        nodes += 2
        left[GAIN] = right[GAIN] = 0.0
        if grown + 1 < LEAVES and max(left[CURVATURE], right[CURVATURE]) >= 2.0 * LEAST:
            if middle - first <= last - middle:
                copy_sums(columns, sums[best], sums[grown])
                add_up(bins, listed_from, unusual, columns, dense, slopes, order[0], first, middle, sums[best])
                subtract(columns, sums[grown], sums[best])
            else:
                add_up(bins, listed_from, unusual, columns, dense, slopes, order[0], middle, last, sums[grown])
                subtract(columns, sums[best], sums[grown])
            find_split(columns, sums[best], left)
            find_split(columns, sums[grown], right)
        grown += 1
    for i in range(grown):
        leaf = leaves[i]
        value = -rate * leaf[GRADIENT] / (leaf[CURVATURE] + RIDGE)
        value = min(max(value, -BOLDEST), BOLDEST)
        tree[int(leaf[PLACE]), VALUE] = value
        for t in range(int(leaf[FIRST]), int(leaf[LAST])):
            scores[order[0, t]] += value
