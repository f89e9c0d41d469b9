r"""Grows one tree of a boosted model: splits by gain, the best leaf first.

The rows of a leaf have gradients $g_t$ and curvatures $h_t$ of their losses, $G = \sum g_t$ and $H = \sum h_t$. The
value that lowers the leaf's loss most, to second order and with a ridge λ = 1, is $-G/(H+\lambda)$. A split into left
and right gains

$$\frac{G_L^2}{H_L+\lambda} + \frac{G_R^2}{H_R+\lambda} - \frac{G^2}{H+\lambda},$$

twice what the loss falls by. Both sides need $H \ge 0.1$: one row at log-odds of 0, many where rows are certain. The
best of many cuts gains more by chance than an only one does: so that columns of noise win fewer leaves from columns of
two values, the gain of a column of m cuts counts as $1/(1 + 0.15\ln m)$ of itself.

Sums over the rows of a leaf, by column and bin, give the gains of all its splits; they lie side by side, so that vector
instructions find them. The larger child's sums are the parent's less those of the smaller one. Where both have H < 0.2
neither has a split, and no sums are made. Chen and Guestrin 2016, XGBoost; Ke et al. 2017, LightGBM.
"""

import numpy as np
from numpy.typing import NDArray

from aioli.numerics.compiling import Cube, Matrix, Vector, compiled
from aioli.states.boosting.bins import BINS, Bins
from aioli.states.boosting.cells import Listed

__all__ = [
    "BEGIN",
    "CHANCE",
    "CHILD",
    "COVER",
    "FEATURE",
    "GROWN",
    "LEAF",
    "LEAVES",
    "NODE",
    "NODES",
    "NUMBER",
    "RIDGE",
    "SCANNED",
    "SUMMED",
    "THRESHOLD",
    "USUAL",
    "VALUE",
    "grow_tree",
]

LEAVES = 32  # of a tree, at most
NODES = 2 * LEAVES - 1
NODE = 5  # numbers of a node
# a cell of at most the threshold goes to the child, any other behind it; a leaf has its value, and its cover: H
FEATURE, THRESHOLD, CHILD, VALUE, COVER = range(NODE)
LEAF = -1.0  # in the place of the column

EACH = np.uintp(BINS)  # without a sign, so that a shift divides by it
RIDGE = 1.0
CHANCE = 0.15  # by the logarithm of a column's cuts: how much of its gains is chance
LEAST = 0.1  # curvature on either side of a split
BOLDEST = 1.0  # that a tree may move a score by: where rows are certain and wrong, G/(H+λ) is large
EMPTY = 1e-9  # curvature of a bin without rows, or of rows that are all but certain: no gain is looked for behind it
TELLING = 1e-9  # gains below it are rounding

# of a leaf, while the tree grows: the node, its rows among all, their G and H; the best split: gain, bin among those of
# all columns, and G and H on the left; and where its sums are held
GROWN = 10
PLACE, FIRST, LAST, GRADIENT, CURVATURE, GAIN, CUT, LEFT_GRADIENT, LEFT_CURVATURE, HELD = range(GROWN)

# lines about the columns that are summed: their numbers, where the sums over their bins begin, and behind the last
# column where they end, and the usual bin of those of which unusual cells are listed; these are behind the dense ones
SUMMED = 3
NUMBER, BEGIN, USUAL = range(SUMMED)
SCANNED = 3  # lines of room to find a split in: G and H on the left of each cut, and the gain

Numbers = NDArray[np.int64]


@compiled("void(u1[:,::1],i8[::1],i4[::1],i8[::1],i8[:,::1],i8,i8,f8[:,::1],i8[::1],i8,i8,f8[:,::1])", uncounted=True)
def add_up(
    bins: Bins,
    listed_from: Numbers,
    unusual: Listed,
    begins: Numbers,
    columns: Numbers,
    dense: int,
    count: int,
    slopes: Matrix,
    order: Numbers,
    first: int,
    last: int,
    sums: Matrix,
) -> None:
    """Write the sums of g and h over rows of a leaf, by column and bin. O(dense + unusual cells) a row."""
    for b in range(columns[BEGIN, count]):
        sums[b, 0] = sums[b, 1] = 0.0
    G, H = 0.0, 0.0
    for t in range(first, last):
        row = np.uintp(order[t])  # without a sign: no index is counted from the end
        g, h = slopes[row, 0], slopes[row, 1]
        G += g
        H += h
        cells = bins[row]
        for c in range(dense):
            at = sums[np.uintp(columns[BEGIN, c] + cells[np.uintp(columns[NUMBER, c])])]
            at[0] += g
            at[1] += h
        for i in range(listed_from[row], listed_from[row + 1]):
            cell = np.uintp(unusual[i])
            at = sums[np.uintp(begins[cell // EACH]) + cell % EACH]
            at[0] += g
            at[1] += h
    for c in range(dense, count):
        g, h = G, H
        for b in range(columns[BEGIN, c], columns[BEGIN, c + 1]):
            g -= sums[b, 0]
            h -= sums[b, 1]
        usual = sums[columns[BEGIN, c] + columns[USUAL, c]]
        usual[0], usual[1] = g, h


@compiled("void(i8,f8[:,::1],f8[:,::1])", uncounted=True)
def subtract(bins: int, sums: Matrix, of_some: Matrix) -> None:
    """Take the sums of some rows of a leaf away from those of all. O(bins)."""
    for b in range(bins):
        sums[b, 0] -= of_some[b, 0]
        sums[b, 1] -= of_some[b, 1]


@compiled("void(i8[:,::1],i8,f8[::1],f8[:,::1],f8[::1],f8[:,::1])", uncounted=True)
def find_split(columns: Numbers, count: int, believed: Vector, sums: Matrix, leaf: Vector, room: Matrix) -> None:
    """Find the split of a leaf that gains most; its gain is 0 where there is none. O(bins)."""
    G, H = leaf[GRADIENT], leaf[CURVATURE]
    whole = G * G / (H + RIDGE)
    lefts, curvatures, gains = room[0], room[1], room[2]
    for c in range(count):
        g, h = 0.0, 0.0
        for b in range(columns[BEGIN, c], columns[BEGIN, c + 1]):
            g += sums[b, 0]
            h += sums[b, 1]
            lefts[b], curvatures[b] = g, h
    bins = columns[BEGIN, count]
    for b in range(bins):  # a loop of its own, for vector instructions
        left, right = curvatures[b] + RIDGE, H - curvatures[b] + RIDGE
        apart = lefts[b] * lefts[b] * right + (G - lefts[b]) * (G - lefts[b]) * left
        gain = (apart / (left * right) - whole) * believed[b]
        found = (sums[b, 1] > EMPTY) & (curvatures[b] >= LEAST) & (H - curvatures[b] >= LEAST)
        gains[b] = gain if found else 0.0
    leaf[GAIN] = 0.0
    for b in range(bins):
        if gains[b] > leaf[GAIN]:
            leaf[GAIN], leaf[CUT], leaf[LEFT_GRADIENT], leaf[LEFT_CURVATURE] = gains[b], b, lefts[b], curvatures[b]


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
    "void(u1[:,::1],i8[::1],i4[::1],i8[::1],f8[:,::1],i8[:,::1],i8,i8,f8[::1],f8[:,::1],f8,i8[:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[::1])",
    uncounted=True,
)
def grow_tree(
    bins: Bins,
    listed_from: Numbers,
    unusual: Listed,
    begins: Numbers,
    cuts: Matrix,
    columns: Numbers,
    dense: int,
    count: int,
    believed: Vector,
    slopes: Matrix,
    rate: float,
    order: Numbers,
    sums: Cube,
    leaves: Matrix,
    room: Matrix,
    tree: Matrix,
    scores: Vector,
) -> None:
    """Grow a tree on the columns drawn, and add what it says to the scores of its rows. O(3 n d), about.

    `bins`, `listed_from` and `unusual` are those of `BinnedRows`. `columns` is about the `count` columns that are
    summed, of which `dense` are not listed; `begins` says where the sums of each column that is listed begin, or, where
    the tree does not read it, at which place nobody looks; `believed` is the part of the gain that counts, by bin: 0 of
    a column's last, behind which there is no cut. `slopes` holds g and h of every row. `order`, of two lines of n,
    `sums`, `leaves` and `room` are room to work in.
    """
    rows = len(bins)
    G, H = 0.0, 0.0
    for t in range(rows):
        order[0, t] = t
        G += slopes[t, 0]
        H += slopes[t, 1]
    root = leaves[0]
    root[PLACE], root[FIRST], root[LAST], root[GRADIENT], root[CURVATURE], root[HELD] = 0.0, 0.0, rows, G, H, 0.0
    add_up(bins, listed_from, unusual, begins, columns, dense, count, slopes, order[0], 0, rows, sums[0])
    find_split(columns, count, believed, sums[0], root, room)
    grown, nodes = 1, 1
    for i in range(NODES):
        tree[i, FEATURE] = LEAF
        tree[i, THRESHOLD] = tree[i, CHILD] = tree[i, VALUE] = tree[i, COVER] = 0.0
    while grown < LEAVES:
        best = 0
        for i in range(1, grown):
            if leaves[i, GAIN] > leaves[best, GAIN]:
                best = i
        left, right = leaves[best], leaves[grown]
        if not left[GAIN] > TELLING:
            break
        place, c = int(left[CUT]), 0
        while columns[BEGIN, c + 1] <= place:
            c += 1
        column, at = columns[NUMBER, c], place - columns[BEGIN, c]
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
            fewer, more = (left, right) if middle - first <= last - middle else (right, left)
            more[HELD], fewer[HELD] = left[HELD], grown
            of_fewer, of_more = sums[grown], sums[int(more[HELD])]
            begin, end = int(fewer[FIRST]), int(fewer[LAST])
            add_up(bins, listed_from, unusual, begins, columns, dense, count, slopes, order[0], begin, end, of_fewer)
            subtract(columns[BEGIN, count], of_more, of_fewer)
            find_split(columns, count, believed, of_fewer, fewer, room)
            find_split(columns, count, believed, of_more, more, room)
        grown += 1
    for i in range(grown):
        leaf = leaves[i]
        value = -rate * leaf[GRADIENT] / (leaf[CURVATURE] + RIDGE)
        value = min(max(value, -BOLDEST), BOLDEST)
        node = tree[int(leaf[PLACE])]
        node[VALUE], node[COVER] = value, leaf[CURVATURE]
        for t in range(int(leaf[FIRST]), int(leaf[LAST])):
            scores[order[0, t]] += value
